import Foundation

/// A program of the machine that a test runs, if it is installed.
struct Program: Sendable {
    struct Output: Sendable {
        let status: Int32
        let text: String
    }

    let path: String

    /// nil when it is not installed.
    init?(_ name: String) {
        let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
        guard
            let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile(atPath:))
        else { return nil }
        self.path = path
    }

    /// Runs it to its end; `timeout(1)` is the deadline.
    func run(_ arguments: [String]) async throws -> Output {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["30", path] + arguments
        // A file, because a pipe that nobody reads in time would stop the program.
        let file = FileManager.default.temporaryDirectory.appending(path: "tally-output-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        process.standardOutput = handle
        process.standardError = handle
        process.standardInput = FileHandle.nullDevice
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        try handle.close()
        return Output(status: status, text: String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }

    /// Starts it in the background, to be killed by the caller: it inherits a blocked SIGTERM from the thread that starts it.
    func start(_ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return process
    }
}
