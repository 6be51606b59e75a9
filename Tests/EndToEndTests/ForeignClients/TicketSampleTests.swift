import APITypes
import ActivityModel
import Foundation
import JSON
import SystemSupport
import TallyClient
import TestSupport
import Testing

/// The samples in `docs/samples/tickets`, each with the JWT library that its language usually has.
@Suite("Tickets that samples sign", .timeLimit(.minutes(5)))
struct TicketSampleTests {
    @Test("in Python are accepted", arguments: TicketAlgorithm.allCases)
    func python(algorithm: TicketAlgorithm) async throws {
        try await Self.expectAccepted(algorithm) { arguments, _ in
            try await Program.python().run([Self.sample("ticket.py").path] + arguments)
        }
    }

    @Test("in Node are accepted", .enabled(if: Node.isWanted), arguments: TicketAlgorithm.allCases)
    func node(algorithm: TicketAlgorithm) async throws {
        try await Self.expectAccepted(algorithm) { arguments, folder in
            // Node looks for packages beside the script.
            let script = folder.url.appending(path: "ticket.mjs")
            try FileManager.default.copyItem(at: Self.sample("ticket.mjs"), to: script)
            try FileManager.default.createSymbolicLink(
                at: folder.url.appending(path: "node_modules"),
                withDestinationURL: Node.packages
            )
            return try await Program("node").run([script.path] + arguments)
        }
    }

    /// Signs a ticket with a new key, and reports a device with it until the key is revoked.
    private static func expectAccepted(
        _ algorithm: TicketAlgorithm,
        sign: ([String], PrivateFolder) async throws -> Program.Output
    ) async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            let key = try await client.createTicketKey(TallySystem.app, TicketKeyRequest(algorithm: algorithm))
            let file = system.folder.url.appending(path: "secret")
            try (key.secret ?? "").write(to: file, atomically: true, encoding: .utf8)
            let output = try await sign(
                [TallySystem.app.rawValue, key.id, algorithm.rawValue, file.path, "phone-1", "ada"],
                system.folder
            )
            #expect(output.status == 0, "\(output.text)")
            let ticket = output.text.trimmingCharacters(in: .whitespacesAndNewlines)
            let phone = HTTPCaller(base: system.url, key: ticket)
            let devices = "/v1/apps/\(TallySystem.app.rawValue)/devices"
            let report = Array(#"{"environment": "production"}"#.utf8)
            let accepted = try await phone.send("PUT", "\(devices)/phone-1", report)
            #expect(accepted.status == 200, "\(accepted.json.text)")
            let user = try await system.api().send("GET", "\(devices)/phone-1").json["user_id"]
            #expect(user?.string == "ada")
            #expect(try await phone.send("PUT", "\(devices)/phone-2", report).status == 403)
            #expect(try await phone.send("GET", "\(devices)/phone-1").status == 403)
            try await client.revokeTicketKey(TallySystem.app, key.id)
            let refused = try await phone.send("PUT", "\(devices)/phone-1", report)
            #expect(refused.status == 401)
            #expect(refused.json["detail"]?.string == "The ticket is not valid: its key is revoked.")
        }
    }

    private static func sample(_ name: String) -> URL {
        URL(filePath: #filePath).appending(path: "../../../../docs/samples/tickets/\(name)").standardized
    }
}

/// Node with its package jose.
private enum Node {
    /// `.ci/run` asks for these tests. Others run them where the package is installed.
    static let isWanted = isAsked || FileManager.default.fileExists(atPath: packages.appending(path: "jose").path)

    /// Where Debian installs packages.
    static let packages = URL(filePath: "/usr/share/nodejs")

    private static let isAsked = ProcessInfo.processInfo.environment["TALLY_TEST_JAVA"] != nil
}
