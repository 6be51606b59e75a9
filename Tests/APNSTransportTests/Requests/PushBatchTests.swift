import ActivityModel
import Testing

@testable import APNSTransport

@Suite("Batches before they are sent")
struct PushBatchTests {
    @Test(
        "a body is measured before anything is sent",
        arguments: [
            (PushType.liveActivity, 1, nil), (.liveActivity, 4096, nil), (.liveActivity, 4097, "PayloadTooLarge"),
            (.voip, 5120, nil), (.voip, 5121, "PayloadTooLarge"), (.alert, 0, "PayloadEmpty"),
        ] as [(PushType, Int, String?)]
    )
    func bodySize(type: PushType, bytes: Int, reason: String?) throws {
        let batch = try makeBatch(type: type, bytes: bytes)
        #expect(batch.refusal?.reason == reason)
        #expect(batch.refusal?.class == (reason == nil ? nil : .requestInvalid))
        #expect(batch.refusal?.status == nil)
    }

    @Test("a broadcast may have 5120 bytes", arguments: [(5120, nil), (5121, "PayloadTooLarge")] as [(Int, String?)])
    func broadcastSize(bytes: Int, reason: String?) throws {
        let push = BroadcastPush(
            environment: .production,
            identity: try testIdentity(),
            bundleID: try #require(BundleID("com.example.app")),
            channelID: try #require(APNSChannelID("AAAA")),
            priority: .five,
            expiration: 0,
            body: [UInt8](repeating: 1, count: bytes)
        )
        #expect(push.refusal?.reason == reason)
    }

    @Test(
        "a collapse id has 1 to 64 bytes, not characters",
        arguments: [
            (String(repeating: "x", count: 64), nil), (String(repeating: "x", count: 65), "BadCollapseId"),
            (String(repeating: "ä", count: 33), "BadCollapseId"), ("", "BadCollapseId"),
        ] as [(String, String?)]
    )
    func collapseID(id: String, reason: String?) throws {
        var batch = try makeBatch(type: .liveActivity, bytes: 10)
        batch.headers.collapseID = id
        #expect(batch.refusal?.reason == reason)
    }

    @Test("tokens of any length lie one after the other in lower-case hex")
    func tokenBuffer() throws {
        var buffer = TokenBuffer()
        buffer.reserveCapacity(3)
        buffer.append(try #require(PushToken(hex: "00FFa1")))
        #expect(buffer.append(bytes: [0x5e]) == true)
        #expect(buffer.append(bytes: []) == false)
        #expect(buffer.append(bytes: [UInt8](repeating: 0, count: 257)) == false)
        #expect(buffer.append(bytes: [UInt8](repeating: 0xab, count: 256)) == true)
        #expect(buffer.count == 3)
        #expect(String(decoding: buffer[0], as: UTF8.self) == "00ffa1")
        #expect(String(decoding: buffer[1], as: UTF8.self) == "5e")
        #expect(buffer[2].count == 512)
        var dumped = ""
        dump(buffer, to: &dumped)
        #expect(!dumped.contains("48"))
        #expect("\(buffer)" == "3 tokens")
    }

    private func makeBatch(type: PushType, bytes: Int) throws -> PushBatch {
        PushBatch(
            environment: .production,
            identity: try testIdentity(),
            headers: PushHeaders(
                bundleID: try #require(BundleID("com.example.app")),
                pushType: type,
                priority: .five
            ),
            body: [UInt8](repeating: 32, count: bytes),
            tokens: TokenBuffer()
        )
    }
}
