import Cryptography
import Foundation

@testable import TLSEngine

/// A client's and a server's TLS session with nothing between them.
struct MemoryHandshake {
    let client: TLSSession
    let server: TLSSession

    /// Moves bytes until both sides have an end, good or bad, or nothing moves any more.
    func run() -> (client: TLSResult<Void>, server: TLSResult<Void>) {
        var results = (client: TLSResult<Void>.wantsMore, server: TLSResult<Void>.wantsMore)
        for _ in 0..<20 {
            if case .wantsMore = results.client { results.client = client.handshake() }
            transfer(from: client, to: server)
            if case .wantsMore = results.server { results.server = server.handshake() }
            transfer(from: server, to: client)
        }
        return results
    }

    func transfer(from sender: TLSSession, to receiver: TLSSession) {
        receiver.feed(sender.output)
        sender.consumeOutput(sender.outputCount)
    }

    /// Decrypts all that the receiver holds.
    static func readAll(_ session: TLSSession) -> (bytes: [UInt8], end: TLSResult<Int>) {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 5000)
        while true {
            let result = buffer.withUnsafeMutableBytes { session.read(into: $0) }
            guard case .complete(let count) = result else { return (bytes, result) }
            bytes += buffer.prefix(count)
        }
    }

    static func writeAll(_ bytes: [UInt8], _ session: TLSSession) throws {
        var start = 0
        while start < bytes.count {
            switch bytes[start...].withUnsafeBytes({ session.write($0) }) {
            case .complete(let count): start += count
            case .failed(let error): throw error
            case .wantsMore, .closed: throw TLSError(.failed, "write", reasons: ["stopped"])
            }
        }
    }
}

extension MemoryHandshake {
    /// Whether the session takes bytes.
    static func writes(_ bytes: [UInt8], _ session: TLSSession) -> Bool {
        bytes.withUnsafeBytes { session.write($0) }.isComplete
    }
}

/// Files that live as long as the test.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "tally-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        // Best effort: it lies in the folder for temporary files.
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String, _ text: String) throws -> String {
        let file = url.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }
}
