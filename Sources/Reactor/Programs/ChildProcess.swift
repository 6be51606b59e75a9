import CLinux
import Dispatch
import Glibc
import Synchronization

/// A program that this process has started, in its own process group.
///
/// It replaces Foundation's `Process`, which reads past its buffer when some 1,300 descriptors are open.
package final class ChildProcess: Sendable {
    /// How a program ended.
    package enum Ending: Sendable, Hashable {
        case exited(Int32)
        case killed(signal: Int32)

        /// The exit status; for a signal, its number.
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

    /// Starts a program.
    ///
    /// Its own thread starts it, lives as long as the program, and waits for it. The command line may ask for a signal
    /// at the parent's death, and the kernel sends that when the starting thread ends.
    ///
    /// - Parameters:
    ///   - program: The command line, environment and folder.
    ///   - input: A descriptor for the standard input; `nil` for an empty one.
    ///   - output: A descriptor for the standard output. All three remain the caller's, who may close them after this
    ///     returns.
    ///   - errors: A descriptor for the standard error; may be the same.
    /// - Returns: The running program.
    /// - Throws: ``ReactorError/Code/system`` if it cannot be started.
    package static func start(
        _ program: ProgramStart,
        input: Int32? = nil,
        output: Int32,
        errors: Int32
    ) throws(ReactorError) -> ChildProcess {
        let end = End()
        let started = Started()
        let thread = try OSThread(name: "child") {
            let result = Result { () throws(ReactorError) in
                try program.spawn(input: input, output: output, errors: errors)
            }
            started.finish(result)
            if case .success(let processID) = result { end.await(processID) }
        }
        thread.detach()
        return ChildProcess(processID: try started.wait(), end: end)
    }

    /// Runs a program to its end and returns its output, including errors.
    ///
    /// - Parameters:
    ///   - program: The command line, environment and folder.
    ///   - input: The content of its standard input.
    ///   - timeout: How long it may run.
    /// - Returns: How it ended, and everything it printed.
    /// - Throws: ``ReactorError/Code/timedOut`` if it exceeds the timeout; it is then killed.
    package static func output(
        of program: ProgramStart,
        input: [UInt8] = [],
        timeout: Duration
    ) async throws(ReactorError) -> (ending: Ending, text: String) {
        // Unnamed files, because a full pipe that no one reads would block the program.
        let given = try input.isEmpty ? nil : UnnamedFile(input)
        let printed = try UnnamedFile([])
        let (input, output) = (given?.descriptor, printed.descriptor)
        let process = try start(program, input: input, output: output, errors: output)
        // Keeps the file open until the program has its own descriptor.
        withExtendedLifetime(given) {}
        let ending = try await process.finish(program.commandLine, within: timeout)
        return (ending, String(decoding: printed.bytes, as: UTF8.self))
    }

    /// How it ended; `nil` while it runs.
    package var ending: Ending? { end.ending }

    /// The exit status, or the number of the signal that ended it; `nil` while it runs.
    package var status: Int32? { ending?.status }

    /// Waits for its end, up to the timeout.
    package func end(within timeout: Duration) async -> Ending? { await end.value(within: timeout) }

    /// The same, blocking. Use it at the end of this process, when nothing else runs.
    package func waitForEnd(within timeout: Duration) {
        end.wait(until: .now() + timeout / .seconds(1))
    }

    /// Sends a signal if it is still running.
    package func signal(_ number: Int32) { end.signal(processID, number) }

    /// Waits for its end and kills it after the timeout.
    ///
    /// - Throws: ``ReactorError/Code/timedOut``.
    package func finish(
        _ commandLine: [String],
        within timeout: Duration
    ) async throws(ReactorError) -> Ending {
        if let ending = await end(within: timeout) { return ending }
        signal(SIGKILL)
        throw ReactorError(.timedOut, operation: "the end of a program", detail: commandLine.last)
    }
}

/// The end of a program. Any number of callers can wait for it.
private final class End: Sendable {
    private let result = Mutex<ChildProcess.Ending?>(nil)
    private let group = DispatchGroup()

    init() { group.enter() }

    var ending: ChildProcess.Ending? { result.withLock { $0 } }

    /// Blocks until the process has ended.
    func await(_ processID: Int32) {
        // Its id belongs to it until it is reaped, which happens under the lock. So no signal reaches another process.
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        result.withLock { result in
            var status: Int32 = 0
            unsafe waitpid(processID, &status, 0)
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
        // `ending` shows whether it has ended.
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

/// A continuation that only the first caller resumes.
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
    private let result = Mutex<Result<Int32, ReactorError>?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func finish(_ value: Result<Int32, ReactorError>) {
        result.withLock { $0 = value }
        semaphore.signal()
    }

    /// Blocks for the duration of a fork.
    func wait() throws(ReactorError) -> Int32 {
        semaphore.wait()
        guard let result = result.withLock({ $0 }) else {
            throw ReactorError(.shutDown, operation: "the start of a program")
        }
        return try result.get()
    }
}
