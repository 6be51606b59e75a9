import Dispatch
import Foundation
import Glibc
package import Reactor
import Synchronization

/// A program that was started here, in a process group of its own.
///
/// Not by Foundation's `Process`, which reads past its buffer when some 1,300 descriptors are open.
package final class ChildProcess: Sendable {
    /// How a program ended.
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        case killed(signal: Int32)

        /// A signal counts as its number.
        package var status: Int32 {
            switch self {
            case .exited(let status), .killed(let status): status
            }
        }
    }

    package let processID: Int32
    private let end: End

    private init(processID: Int32, end: End) {
        self.processID = processID
        self.end = end
    }

    /// Starts a program; its input is empty.
    ///
    /// It is started by a thread of its own, which lives as long as the program and waits for it: a signal at the parent's
    /// death, where the command line asks for one, is sent when the starting thread ends.
    ///
    /// - Parameters:
    ///   - program: what to start, and where.
    ///   - output: a descriptor for the standard output. It stays the caller's, who may close it when this returns.
    ///   - errors: one for the standard error; may be the same.
    /// - Returns: the running program.
    /// - Throws: ``LocalPostgresError/Code/failed`` when it cannot be started.
    package static func start(
        _ program: ProgramStart,
        output: Int32,
        errors: Int32
    ) throws(LocalPostgresError) -> ChildProcess {
        let end = End()
        let started = Started()
        Thread.detachNewThread {
            let result = Result { () throws(ReactorError) in try program.spawn(output: output, errors: errors) }
                .mapError { LocalPostgresError(.failed, "a program could not be started: \($0)") }
            started.finish(result)
            if case .success(let processID) = result { end.await(processID) }
        }
        return ChildProcess(processID: try started.wait(), end: end)
    }

    /// Starts a program of PostgreSQL's, with its output at the end of a file.
    static func start(_ commandLine: [String], log: String) throws(LocalPostgresError) -> ChildProcess {
        let output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw LocalPostgresError(.unusableFolder, "\(log) cannot be written") }
        defer { close(output) }
        return try start(ProgramStart(commandLine), output: output, errors: output)
    }

    /// Runs a program of PostgreSQL's to its end.
    ///
    /// - Returns: its exit status.
    static func run(
        _ commandLine: [String],
        log: String,
        timeout: Duration
    ) async throws(LocalPostgresError) -> Int32 {
        let process = try start(commandLine, log: log)
        return try await process.finish(commandLine, within: timeout).status
    }

    /// Runs a program to its end and reads what it has printed, errors included.
    ///
    /// - Throws: ``LocalPostgresError/Code/timedOut`` when it takes too long, and is killed.
    package static func output(
        of program: ProgramStart,
        timeout: Duration
    ) async throws(LocalPostgresError) -> (ending: Ending, text: String) {
        // A file without a name, because a pipe that nobody reads in time would stop the program.
        guard let stream = tmpfile() else { throw LocalPostgresError(.unusableFolder, "no temporary file can be made") }
        defer { fclose(stream) }
        let file = fileno(stream)
        let process = try start(program, output: file, errors: file)
        let ending = try await process.finish(program.commandLine, within: timeout)
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = pread(file, &part, part.count, bytes.count), count > 0 { bytes += part[..<count] }
        return (ending, String(decoding: bytes, as: UTF8.self))
    }

    /// How it ended; nil while it runs.
    package var ending: Ending? { end.ending }

    /// How it ended, nil while it runs; a signal counts as its number.
    package var status: Int32? { ending?.status }

    /// Waits for its end, at most so long.
    package func end(within timeout: Duration) async -> Ending? { await end.value(within: timeout) }

    /// The same, blocking. For the end of the process, when nothing else runs any more.
    package func waitForEnd(within timeout: Duration) {
        end.wait(until: .now() + timeout / .seconds(1))
    }

    /// Sends a signal unless it has ended.
    package func signal(_ number: Int32) { end.signal(processID, number) }

    private func finish(
        _ commandLine: [String],
        within timeout: Duration
    ) async throws(LocalPostgresError) -> Ending {
        if let ending = await end(within: timeout) { return ending }
        signal(SIGKILL)
        throw LocalPostgresError(.timedOut, "\(commandLine.last ?? "") did not end in time")
    }
}

/// The end of a program, for any number of those who wait for it.
private final class End: Sendable {
    private let result = Mutex<ChildProcess.Ending?>(nil)
    private let group = DispatchGroup()

    init() { group.enter() }

    var ending: ChildProcess.Ending? { result.withLock { $0 } }

    /// Blocks until the process has ended.
    func await(_ processID: Int32) {
        // Its id belongs to it until it is reaped, which happens under the lock: no signal reaches a stranger.
        var information = siginfo_t()
        while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        result.withLock { result in
            var status: Int32 = 0
            waitpid(processID, &status, 0)
            let signal = status & 0x7F
            result = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
        }
        group.leave()
    }

    func signal(_ processID: Int32, _ number: Int32) {
        result.withLock { result in
            if result == nil { kill(processID, number) }
        }
    }

    func wait(until deadline: DispatchTime) {
        // Whether it has ended is in `ending`.
        _ = group.wait(timeout: deadline)
    }

    func value(within timeout: Duration) async -> ChildProcess.Ending? {
        await withCheckedContinuation { continuation in
            let first = FirstOnly(continuation)
            group.notify(queue: .global()) { [self] in first.resume(ending) }
            DispatchQueue.global().asyncAfter(deadline: .now() + timeout / .seconds(1)) { first.resume(nil) }
        }
    }
}

/// A continuation for whoever comes first.
private final class FirstOnly: Sendable {
    private let continuation: Mutex<CheckedContinuation<ChildProcess.Ending?, Never>?>

    init(_ continuation: CheckedContinuation<ChildProcess.Ending?, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume(_ ending: ChildProcess.Ending?) {
        continuation.withLock { $0.take() }?.resume(returning: ending)
    }
}

/// Carries the process id from the starting thread.
private final class Started: Sendable {
    private let result = Mutex<Result<Int32, LocalPostgresError>?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func finish(_ value: Result<Int32, LocalPostgresError>) {
        result.withLock { $0 = value }
        semaphore.signal()
    }

    /// Blocks for as long as a fork takes.
    func wait() throws(LocalPostgresError) -> Int32 {
        semaphore.wait()
        guard let result = result.withLock({ $0 }) else {
            throw LocalPostgresError(.failed, "a program could not be started")
        }
        return try result.get()
    }
}
