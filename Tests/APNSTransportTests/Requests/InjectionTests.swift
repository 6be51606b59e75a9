import APNSTransport
import ActivityModel
import HTTP2Engine
import HTTP2TestSupport
import Testing

/// Texts that would say more than one thing, if they came into a path or a header field of a request to Apple.
@Suite("Injection into requests to APNs", .timeLimit(.minutes(1)), .bothSessions)
struct InjectionTests {
    static let texts = [
        "a\r\napns-topic: com.example.other", "a\nb", "a\rb", "a\0b", "a/../../3/device/00", "../a", "/", "a/b",
        "a%2Fb",
        "a%0d%0ab", "a?b", "a#b", "a b", " a", "a ", "a\tb", "ä", "a\u{2028}b", "a\u{FF0F}b", "a\\b", "a;b", "a\u{7F}",
        "\u{FEFF}a", "e\u{301}", "", "a\u{1B}[2J", "%", "a:b@c", "\u{1F600}", "１２",
    ]

    @Test("no such text is an id that a request is made of", arguments: texts)
    func identifiers(text: String) {
        #expect(BundleID(text) == nil)
        #expect(BundleID("com.example." + text) == nil)
        #expect(TeamID(text) == nil && KeyID(text) == nil)
        #expect(TeamID("ABCDE" + text) == nil && KeyID("ABCDE" + text) == nil)
        #expect(APNSRequestID(text) == nil)
        #expect(PushToken(hex: text) == nil && PushToken(hex: "00" + text + "0") == nil)
        // A channel's id is base64, where a slash is a digit; it stands in a header field alone.
        let isBase64 = !text.isEmpty && text.utf8.allSatisfy { "ab/".utf8.contains($0) }
        #expect((APNSChannelID(text) != nil) == isBase64)
    }

    @Test("what a request is made of that nobody has looked at is refused before it leaves", arguments: texts)
    func requests(text: String) async throws {
        // The database's word is taken as it is; a row that somebody wrote there must not reach Apple either.
        let app = BundleID(stored: "com.example." + text)
        let channel = APNSChannelID(stored: text)
        let isFieldText =
            text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 9 } && text.first != " " && text.last != " "
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            var topic = try ClientWorld.batch(1)
            topic.headers.bundleID = app
            #expect(await world.client.send(topic).classes == ["request_invalid": 1])
            var collapse = try ClientWorld.batch(1)
            collapse.headers.collapseID = text
            if !isFieldText { #expect(await world.client.send(collapse).classes == ["request_invalid": 1]) }
            #expect(
                try await Self.broadcast(by: world.client, app, APNSChannelID(stored: "dHN0")).class == .requestInvalid
            )
            if !isFieldText {
                let outcome = try await Self.broadcast(by: world.client, ClientWorld.bundleID(), channel)
                #expect(outcome.class == .requestInvalid)
                #expect(text.utf8.count < 3 || outcome.detail?.contains(text) == false)
            }
            let list = await world.client.listChannels(
                environment: .sandbox,
                identity: try testIdentity(),
                bundleID: app
            )
            guard case .failed(let outcome) = list else { return #expect(Bool(false)) }
            #expect(outcome.class == .requestInvalid)
            #expect(world.server.received.isEmpty)
        }
    }

    private static func broadcast(
        by client: APNSClient,
        _ app: BundleID,
        _ channel: APNSChannelID
    ) async throws -> PushOutcome {
        await client.broadcast(
            BroadcastPush(
                environment: .sandbox,
                identity: try testIdentity(),
                bundleID: app,
                channelID: channel,
                storage: .mostRecent,
                priority: .ten,
                expiration: 0,
                body: Array("{}".utf8)
            )
        )
    }
}
