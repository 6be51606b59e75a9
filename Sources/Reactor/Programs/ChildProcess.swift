import CLinux
import Dispatch
import Glibc
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

    /// Starts a program.
    ///
    /// It is started by a thread of its own, which lives as long as the program and waits for it: a signal at the
    /// parent's death, where the command line asks for one, is sent when the starting thread ends.
    ///
    /// - Parameters:
    ///   - program: what to start, and where.
    ///   - input: a descriptor for the standard input; nil for an empty one.
    ///   - output: a descriptor for the standard output. All three stay the caller's, who may close them when this
    ///     returns.
    ///   - errors: one for the standard error; may be the same.
    /// - Returns: the running program.
    /// - Throws: ``ReactorError/Code/system`` when it cannot be started.
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

    /// Runs a program to its end and reads what it has printed, errors included.
    ///
    /// - Parameters:
    ///   - program: what to run, and where.
    ///   - input: what it finds at its standard input.
    ///   - timeout: how long it may take.
    /// - Returns: how it ended, and all that it has printed.
    /// - Throws: ``ReactorError/Code/timedOut`` when it takes too long, and is killed.
    package static func output(
        of program: ProgramStart,
        input: [UInt8] = [],
        timeout: Duration
    ) async throws(ReactorError) -> (ending: Ending, text: String) {
        // Files without names, because a pipe that nobody reads in time would stop the program.
        let given = try input.isEmpty ? nil : UnnamedFile(input)
        let printed = try UnnamedFile([])
        let (input, output) = (given?.descriptor, printed.descriptor)
        let process = try start(program, input: input, output: output, errors: output)
        // The program has the file by now; until then it had to be kept open.
        withExtendedLifetime(given) {}
        let ending = try await process.finish(program.commandLine, within: timeout)
        return (ending, String(decoding: printed.bytes, as: UTF8.self))
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

    /// Waits for its end; a program that is not there in time is killed.
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

/// The end of a program, for any number of those who wait for it.
private final class End: Sendable {
    private let result = Mutex<ChildProcess.Ending?>(nil)
    private let group = DispatchGroup()

    init() { group.enter() }

    var ending: ChildProcess.Ending? { result.withLock { $0 } }

    /// Blocks until the process has ended.
    func await(_ processID: Int32) {
        // Its id belongs to it until it is reaped, which happens under the lock: no signal reaches a stranger.
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
    private let result = Mutex<Result<Int32, ReactorError>?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func finish(_ value: Result<Int32, ReactorError>) {
        result.withLock { $0 = value }
        semaphore.signal()
    }

    /// Blocks for as long as a fork takes.
    func wait() throws(ReactorError) -> Int32 {
        semaphore.wait()
        guard let result = result.withLock({ $0 }) else {
            throw ReactorError(.shutDown, operation: "the start of a program")
        }
        return try result.get()
    }
}
