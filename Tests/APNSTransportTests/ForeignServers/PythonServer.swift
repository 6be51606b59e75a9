import APNSTransport
import Foundation
import TestSupport

/// `Tests/ForeignPeers/apns_server.py` at work: TLS, certificates and HTTP/2 of others.
struct PythonServer: Sendable {
    /// What it has seen so far.
    struct Report: Decodable {
        let port: UInt16
        let connections: Int
        let requests: Int
        /// The most requests that a connection had open at once.
        let most_open: Int
        /// The TLS version of each connection whose handshake succeeded.
        let versions: [String]
        /// The SHA-256 of all different bodies, in hexadecimal.
        let bodies: [String]
        /// What was against the protocol in the eyes of `h2`.
        let violations: [String]
    }

    private let folder: URL
    let endpoint: APNSEndpoint

    /// Runs `body` and ends the server afterwards. Arguments are those of the script; `answer` is the body of all
    /// answers.
    static func run(
        _ arguments: [String] = [],
        answer: String = "",
        _ body: (PythonServer) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-python-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // What is left is in the temporary folder.
        defer { try? FileManager.default.removeItem(at: folder) }
        let answerFile = folder.appending(path: "answer")
        try answer.write(to: answerFile, atomically: true, encoding: .utf8)
        let script = URL(filePath: #filePath).appending(path: "../../../ForeignPeers/apns_server.py")
            .standardizedFileURL
        let process = try Program.python().start(
            [script.path, "--folder", folder.path, "--answer", answerFile.path] + arguments
        )
        defer { process.kill() }
        // It tells its port when it listens; the test's time limit is the deadline.
        while !FileManager.default.fileExists(atPath: folder.appending(path: "report.json").path) {
            try Task.checkCancellation()
            await Task.yield()
        }
        try await body(PythonServer(folder: folder))
    }

    private init(folder: URL) throws {
        self.folder = folder
        endpoint = APNSEndpoint(host: "localhost", port: try Self.report(folder).port)
    }

    /// The file with the authority of its certificate.
    var caFile: String { folder.appending(path: "ca.pem").path }

    func report() throws -> Report { try Self.report(folder) }

    private static func report(_ folder: URL) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(contentsOf: folder.appending(path: "report.json")))
    }
}
