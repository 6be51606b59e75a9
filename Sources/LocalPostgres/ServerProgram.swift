import Glibc
import Reactor

/// Runs programs of PostgreSQL.
enum ServerProgram {
    /// Starts a program. Its output is appended to a file; its input is empty.
    static func start(_ commandLine: [String], log: String) throws(LocalPostgresError) -> ChildProcess {
        let output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw LocalPostgresError(.unusableFolder, "\(log) cannot be written") }
        defer { close(output) }
        do {
            return try ChildProcess.start(ProgramStart(commandLine), output: output, errors: output)
        } catch {
            throw LocalPostgresError(.failed, "a program could not be started: \(error)")
        }
    }

    /// Runs a program to its end.
    ///
    /// - Returns: Its exit status, or the number of the signal that ended it.
    static func run(
        _ commandLine: [String],
        log: String,
        timeout: Duration
    ) async throws(LocalPostgresError) -> Int32 {
        let process = try start(commandLine, log: log)
        do {
            return try await process.finish(commandLine, within: timeout).status
        } catch {
            throw LocalPostgresError(.timedOut, "\(commandLine.last ?? "") did not end in time")
        }
    }
}
