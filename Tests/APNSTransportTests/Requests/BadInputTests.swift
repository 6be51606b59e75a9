import APNSTransport
import ActivityModel
import Foundation
import Logging
import Testing

/// What is wrong before it leaves never leaves: no request, not even a connection.
@Suite("Bad input")
struct BadInputTests {
    static let pushes: [(String, @Sendable (inout PushBatch) -> Void)] = [
        ("PayloadTooLarge", { $0.body = [UInt8](repeating: 32, count: 4097) }),
        ("PayloadEmpty", { $0.body = [] }),
        ("BadCollapseId", { $0.headers.collapseID = "goal\r\napns-topic: com.example.other" }),
        ("BadTopic", { $0.headers.bundleID = BundleID(stored: "com.example\0") }),
        (
            "BadPriority",
            {
                $0.headers.pushType = .background
                $0.headers.priority = .ten
            }
        ),
    ]

    @Test("a push is refused with Apple's word", arguments: pushes)
    func push(reason: String, change: @Sendable (inout PushBatch) -> Void) async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            var batch = try ClientWorld.batch(3)
            change(&batch)
            let outcome = await world.client.send(batch)
            #expect(outcome.accepted == 0)
            #expect(outcome.exceptions.map(\.outcome.reason) == [reason, reason, reason])
            #expect(outcome.exceptions.allSatisfy { $0.outcome.class == .requestInvalid && $0.outcome.status == nil })
            #expect(outcome.answered == 0)
            #expect(world.server.received.isEmpty)
        }
    }

    @Test(
        "a CA file that does not parse is named when the client is made",
        arguments: ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    )
    func caFile(text: String) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString).pem")
        try Data(text.utf8).write(to: file)
        // A file that stays behind in the temporary folder harms nobody.
        defer { try? FileManager.default.removeItem(at: file) }
        let error = try #require(throws: APNSTransportError.self) {
            try APNSClient(caFile: file.path, logger: Logger(label: "test"))
        }
        #expect(error.code == .trust)
        #expect(error.description.contains(file.path))
    }

    @Test("a token that is not hex is no token", arguments: ["", "0", "0x12", "zz", "00 1", "é0", "00\n"])
    func token(text: String) {
        #expect(PushToken(hex: text) == nil)
    }
}
