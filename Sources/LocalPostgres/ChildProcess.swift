import Dispatch
import Foundation
import Synchronization

/// A program that was started here, with its output at the end of a file.
final class ChildProcess: Sendable {
    let processID: Int32
    private let ending: Ending

    private init(processID: Int32, ending: Ending) {
        self.processID = processID
        self.ending = ending
    }

    /// Starts a program.
    ///
    /// It is started by a thread of its own, which lives as long as the program: a signal at the parent's death, where the
    /// command line asks for one, is sent when the starting thread ends.
    static func start(_ commandLine: [String], log: String) throws(LocalPostgresError) -> ChildProcess {
        let ending = Ending()
        let started = Started()
        Thread.detachNewThread {
            started.finish(Result { () throws(LocalPostgresError) in try run(commandLine, log: log, ending) })
            ending.wait(until: .distantFuture)
        }
        return ChildProcess(processID: try started.wait(), ending: ending)
    }

    /// Runs a program to its end.
    ///
    /// - Returns: its exit status.
    static func run(
        _ commandLine: [String],
        log: String,
        timeout: Duration
    ) async throws(LocalPostgresError) -> Int32 {
        let process = try start(commandLine, log: log)
        if let status = await process.end(within: timeout) { return status }
        process.signal(SIGKILL)
        throw LocalPostgresError(.timedOut, "\(commandLine.last ?? "") did not end in time")
    }

    /// How it ended, nil while it runs; a signal counts as its number.
    var status: Int32? { ending.status }

    /// Waits for its end, at most so long.
    func end(within timeout: Duration) async -> Int32? { await ending.end(within: timeout) }

    /// The same, blocking. For the end of the process, when nothing else runs any more.
    func waitForEnd(within timeout: Duration) {
        ending.wait(until: .now() + timeout / .seconds(1))
    }

    /// Sends a signal unless it has ended.
    func signal(_ number: Int32) {
        if status == nil { kill(processID, number) }
    }

    private static func run(
        _ commandLine: [String],
        log: String,
        _ ending: Ending
    ) throws(LocalPostgresError) -> Int32 {
        let output = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw LocalPostgresError(.unusableFolder, "\(log) cannot be written") }
        let handle = FileHandle(fileDescriptor: output, closeOnDealloc: true)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: commandLine[0])
        process.arguments = Array(commandLine.dropFirst())
        // Nothing of our own surroundings: PGHOST and its kin would mislead it, and it may not enter our folder.
        process.environment = ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"]
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = handle
        process.standardError = handle
        process.terminationHandler = { ending.finish($0.terminationStatus) }
        defer {
            // The child has its own copy. Foundation keeps the process object, and with it the file, for as long as we live.
            try? handle.close()  // a file that cannot be closed is one that is closed
        }
        do {
            try process.run()
        } catch {
            throw LocalPostgresError(.failed, "\(commandLine[0]) could not be started: \(error)")
        }
        return process.processIdentifier
    }
}

/// The end of a program, for any number of those who wait for it.
private final class Ending: Sendable {
    private let result = Mutex<Int32?>(nil)
    private let group = DispatchGroup()

    init() { group.enter() }

    var status: Int32? { result.withLock { $0 } }

    func finish(_ status: Int32) {
        result.withLock { $0 = status }
        group.leave()
    }

    func wait(until deadline: DispatchTime) {
        // Whether it has ended is in `status`.
        _ = group.wait(timeout: deadline)
    }

    func end(within timeout: Duration) async -> Int32? {
        await withCheckedContinuation { continuation in
            let first = FirstOnly(continuation)
            group.notify(queue: .global()) { [self] in first.resume(status) }
            DispatchQueue.global().asyncAfter(deadline: .now() + timeout / .seconds(1)) { first.resume(nil) }
        }
    }
}

/// A continuation for whoever comes first.
private final class FirstOnly: Sendable {
    private let continuation: Mutex<CheckedContinuation<Int32?, Never>?>

    init(_ continuation: CheckedContinuation<Int32?, Never>) {
        self.continuation = Mutex(continuation)
    }

    func resume(_ status: Int32?) {
        continuation.withLock { $0.take() }?.resume(returning: status)
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
