import APNSTransport
import ActivityModel
import HTTP2Engine
import HTTP2TestSupport
import Testing

@Suite("Broadcasts and channels", .timeLimit(.minutes(1)), .bothSessions)
struct ChannelTests {
    private let bundleID: BundleID
    private let channelID: APNSChannelID

    init() throws {
        bundleID = try ClientWorld.bundleID()
        channelID = try #require(APNSChannelID("dHN0+/hubA=="))
    }

    private func push(_ body: [UInt8] = [123, 125]) throws -> BroadcastPush {
        BroadcastPush(
            environment: .sandbox,
            identity: try testIdentity(),
            bundleID: bundleID,
            channelID: channelID,
            storage: .none,
            priority: .five,
            expiration: 0,
            body: body
        )
    }

    @Test("a broadcast goes to the app's path with its channel in a header")
    func broadcast() async throws {
        try await ClientWorld.run(
            script: { _ in .answer(status: 200, fields: [HTTP2Header("apns-request-id", "R-1")]) },
            { world async throws in
                let outcome = await world.client.broadcast(try push())
                #expect(outcome == PushOutcome(.accepted, status: 200, apnsID: "R-1"))
                let request = try #require(world.server.received.first)
                #expect(request.path == "/4/broadcasts/apps/com.example.Scores")
                #expect(request["apns-channel-id"] == "dHN0+/hubA==")
                #expect(request["apns-expiration"] == "0")
                #expect(request["apns-topic"] == nil)
                #expect(world.count(api: "broadcast", status: "200", reason: "") == 1)
            }
        )
    }

    @Test(
        "refused broadcasts say what to do",
        arguments: [
            (400, "ChannelNotRegistered", .channelGone), (400, "BadChannelId", .channelGone),
            (400, "BroadcastFeatureNotEnabled", .credential), (429, "TooManyRequests", .retry),
            (400, "BadExpirationDate", .requestInvalid),
        ] as [(Int, String, PushOutcome.Class)]
    )
    func refused(status: Int, reason: String, expected: PushOutcome.Class) async throws {
        try await ClientWorld.run(script: { _ in .refusal(status, reason) }) { world async throws in
            let outcome = await world.client.broadcast(try push())
            #expect(outcome == PushOutcome(expected, status: status, reason: reason))
        }
    }

    @Test("a broadcast over 5120 bytes is not sent")
    func tooLarge() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            let outcome = await world.client.broadcast(try push([UInt8](repeating: 32, count: 5121)))
            #expect(outcome.class == .requestInvalid)
            #expect(world.server.received.isEmpty)
        }
    }

    @Test("a broadcast without an answer is unknown at its deadline")
    func silence() async throws {
        try await ClientWorld.run(script: { $0.number == 0 ? .ok : .silence }) { world async throws in
            var push = try push()
            #expect(await world.client.broadcast(push).isAccepted)
            push.deadline = .milliseconds(300)
            #expect(await world.client.broadcast(push).class == .unknown)
        }
    }

    @Test("a channel is made, and its id comes from the header")
    func creation() async throws {
        try await ClientWorld.run(
            script: { _ in .answer(status: 201, fields: [HTTP2Header("apns-channel-id", "dHN0+/hubA==")]) },
            { world async throws in
                let outcome = await world.client.createChannel(
                    environment: .sandbox,
                    identity: try testIdentity(),
                    bundleID: bundleID,
                    storage: .mostRecent
                )
                #expect(outcome == .created(channelID))
                let request = try #require(world.server.received.first)
                #expect((request.method, request.path) == ("POST", "/1/apps/com.example.Scores/channels"))
                #expect(request.body == Array(#"{"message-storage-policy":1,"push-type":"LiveActivity"}"#.utf8))
                #expect(request["apns-push-type"] == nil)
            }
        )
    }

    @Test("a channel that is made without an id is unknown, a full quota is to be retried")
    func failedCreation() async throws {
        try await ClientWorld.run(
            script: { request in
                request.number == 0 ? .answer(status: 201) : .refusal(400, "CannotCreateChannelConfig")
            },
            { world async throws in
                let identity = try testIdentity()
                for expected in [PushOutcome.Class.unknown, .retry] {
                    let outcome = await world.client.createChannel(
                        environment: .sandbox,
                        identity: identity,
                        bundleID: bundleID,
                        storage: .none
                    )
                    guard case .failed(let failure) = outcome else {
                        Issue.record("a channel came out of nothing")
                        return
                    }
                    #expect(failure.class == expected)
                }
            }
        )
    }

    @Test(
        "deleting tells deleted from gone from failed",
        arguments: [
            (204, "", ChannelDeletionOutcome.deleted), (200, "", .deleted), (404, "BadPath", .alreadyGone),
            (400, "ChannelNotRegistered", .alreadyGone), (400, "BadChannelId", .alreadyGone),
            (
                503, "ServiceUnavailable",
                .failed(PushOutcome(.retry, status: 503, reason: "ServiceUnavailable"))
            ),
        ]
    )
    func deletion(status: Int, reason: String, expected: ChannelDeletionOutcome) async throws {
        try await ClientWorld.run(
            script: { _ in reason.isEmpty ? .answer(status: status) : .refusal(status, reason) },
            { world async throws in
                let outcome = await world.client.deleteChannel(
                    environment: .sandbox,
                    identity: try testIdentity(),
                    bundleID: bundleID,
                    channelID: channelID
                )
                #expect(outcome == expected)
                let request = try #require(world.server.received.first)
                #expect((request.method, request.path) == ("DELETE", "/1/apps/com.example.Scores/channels"))
                #expect(request["apns-channel-id"] == "dHN0+/hubA==")
                #expect(request.body.isEmpty)
            }
        )
    }

    @Test("a channel is read")
    func reading() async throws {
        try await ClientWorld.run(
            script: { request in
                request.number == 0
                    ? .answer(status: 200, body: #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
                    : .refusal(400, "ChannelNotRegistered")
            },
            { world async throws in
                let identity = try testIdentity()
                for expected in [ChannelReadingOutcome.found(.none), .gone] {
                    let outcome = await world.client.readChannel(
                        environment: .sandbox,
                        identity: identity,
                        bundleID: bundleID,
                        channelID: channelID
                    )
                    #expect(outcome == expected)
                }
            }
        )
    }

    @Test("ten thousand channels are listed")
    func longList() async throws {
        let ids = (0..<10_000).map { "dHN0LXNyY2gtY2hubA\(10_000 + $0)==" }
        let body = #"{"channels":["\#(ids.joined(separator: #"",""#))"]}"#
        try await ClientWorld.run(script: { _ in .answer(status: 200, body: body) }) { world async throws in
            let outcome = await world.client.listChannels(
                environment: .sandbox,
                identity: try testIdentity(),
                bundleID: bundleID
            )
            #expect(outcome == .listed(ids.compactMap { APNSChannelID($0) }))
            #expect(world.server.received.first?.path == "/1/apps/com.example.Scores/all-channels")
        }
    }

    @Test(
        "a list that cannot be understood in full is none",
        arguments: ["", "{}", #"{"channels":["ok", 7]}"#, #"{"channels":["with space"]}"#, #"{"channels":"AAAA"}"#]
    )
    func oddList(body: String) async throws {
        try await ClientWorld.run(script: { _ in .answer(status: 200, body: body) }) { world async throws in
            let outcome = await world.client.listChannels(
                environment: .sandbox,
                identity: try testIdentity(),
                bundleID: bundleID
            )
            guard case .failed(let failure) = outcome else {
                Issue.record("a broken list was believed")
                return
            }
            #expect(failure.class == .unknown)
        }
    }
}
