package import Foundation
import Glibc
import Reactor
import TestSupport

/// A program of ours that was started here; its standard output is read by lines, its standard error lies in a file.
///
/// It ends with the test process, even when that is killed.
package final class RunningProgram: Sendable {
    /// How a program ended.
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        case killed(signal: Int32)

        fileprivate init(_ ending: ChildProcess.Ending) {
            self =
                switch ending {
                case .exited(let status): .exited(status)
                case .killed(let signal): .killed(signal: signal)
                }
        }
    }

    private let process: ChildProcess
    private let lines: OutputLines
    private let errorFile: String

    /// Starts a program of the build, `tallyd`, `tally` or `apns-sim`, or of another one in the folder `programs`.
    ///
    /// `environment` is all that it gets of Tally's settings; the rest of its environment is ours. It runs in the
    /// folder, and its standard error goes to a file there.
    package static func start(
        _ name: String,
        _ arguments: [String],
        from programs: URL? = nil,
        environment: [String: String] = [:],
        in folder: PrivateFolder
    ) async throws -> RunningProgram {
        let program = (programs ?? Places.programs).appending(path: name).path
        guard access(program, X_OK) == 0 else {
            throw Failure("\(program) is not there: build it, or name its folder with TALLY_BIN_DIR")
        }
        let errorFile = folder.path("\(name)-\(UUID().uuidString.prefix(8)).err")
        guard FileManager.default.createFile(atPath: errorFile, contents: nil),
            let errors = FileHandle(forWritingAtPath: errorFile)
        else { throw Failure("\(errorFile) cannot be written") }
        let output = Pipe()
        let process = try ChildProcess.start(
            commandLine(program, arguments, environment, in: folder),
            output: output.fileHandleForWriting.fileDescriptor,
            errors: errors.fileDescriptor
        )
        // The program has its own copy of both; with ours open, its output would never end.
        try output.fileHandleForWriting.close()
        try errors.close()
        let lines = OutputLines()
        Thread.detachNewThread { lines.read(output.fileHandleForReading) }
        return RunningProgram(process: process, lines: lines, errorFile: errorFile)
    }

    /// Runs a program to its end.
    package static func run(
        _ name: String,
        _ arguments: [String],
        from programs: URL? = nil,
        environment: [String: String] = [:],
        in folder: PrivateFolder,
        within limit: Duration = .seconds(120)
    ) async throws -> (ending: Ending, output: String, errors: String) {
        let program = try await start(name, arguments, from: programs, environment: environment, in: folder)
        guard let ending = await program.end(within: limit) else {
            await program.kill()
            throw Failure("\(name) \(arguments) has not ended within \(limit)\n\(program.errors)")
        }
        // The last lines may still be in the pipe.
        _ = await program.lines.end.value(within: .seconds(10))
        return (ending, program.output, program.errors)
    }

    private init(process: ChildProcess, lines: OutputLines, errorFile: String) {
        self.process = process
        self.lines = lines
        self.errorFile = errorFile
    }

    package var processID: Int32 { process.processID }

    /// What it has printed so far.
    package var output: String { lines.all.joined(separator: "\n") }

    /// What it has logged so far.
    package var errors: String {
        // A log that cannot be read is as good as an empty one: it is only shown to people.
        (try? String(contentsOfFile: errorFile, encoding: .utf8)) ?? ""
    }

    /// The first line that begins so.
    ///
    /// - Throws: ``Failure`` with the log if the program ends without it, or takes longer.
    @discardableResult
    package func line(beginningWith beginning: String, within limit: Duration = .seconds(60)) async throws -> String {
        if let line = await lines.line(beginningWith: beginning, within: limit) { return line }
        throw Failure("no line '\(beginning)…' from process \(processID)\n\(output)\n\(errors)")
    }

    /// Waits for its end; nil if it still runs when the time is over.
    package func end(within limit: Duration) async -> Ending? { await process.end(within: limit).map(Ending.init) }

    /// Sends a signal, unless it has ended.
    package func signal(_ number: Int32) { process.signal(number) }

    /// SIGKILL, and waits until the process is gone.
    package func kill() async {
        signal(SIGKILL)
        _ = await end(within: .seconds(30))
    }

    /// Asks for the end, waits, and insists.
    ///
    /// - Returns: How it ended.
    @discardableResult
    package func stop() async -> Ending? {
        signal(SIGTERM)
        // One that is paused does not hear it otherwise.
        signal(SIGCONT)
        if let ending = await end(within: .seconds(40)) { return ending }
        await kill()
        return nil
    }

    private static func commandLine(
        _ program: String,
        _ arguments: [String],
        _ environment: [String: String],
        in folder: PrivateFolder
    ) -> ProgramStart {
        // setpriv becomes the program, so the process id is the program's.
        let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].first(where: FileManager.default.isExecutableFile)
        return ProgramStart(
            (setpriv.map { [$0, "--pdeathsig", "KILL"] } ?? []) + [program] + arguments,
            environment: ProcessInfo.processInfo.environment
                .filter { name, _ in !["TALLY_", "APNS_", "PG"].contains(where: name.hasPrefix) }
                .merging(environment) { $1 },
            folder: folder.url.path
        )
    }
}
