import ActivityModel
import Cryptography
import Foundation
import JSON
import Testing

@testable import APNSSimulator

/// `curl --http2`, as Apple's own page on command-line tools uses it.
@Suite("The simulator and curl", .timeLimit(.minutes(2)))
struct CurlTests {
    private static let id = "5f0c6b9e-2b8c-4e58-9e4f-0b6e0b6a5c11"

    @Test("a push is answered with its apns-id, and in the sandbox with an apns-unique-id")
    func push() async throws {
        try await ForeignWorld.with(phones: 1) { world in
            let push = try world.push(to: world.startToken(1))
            let answer = try await world.curl(push.with("apns-id", Self.id))
            #expect(answer.version == "HTTP/2")
            #expect(answer.status == 200)
            #expect(answer.body.isEmpty)
            #expect(answer.headers["apns-id"] == Self.id)
            #expect(HeaderForms.isCanonicalUUID(answer.headers["apns-unique-id"] ?? ""))
            #expect(try world.phone(1).received.map(\.verdict) == [.started])

            var production = push
            production.environment = .production
            let elsewhere = try await world.curl(production)
            #expect(elsewhere.status == 400)
            #expect(elsewhere.body == #"{"reason":"BadDeviceToken"}"#)
            #expect(HeaderForms.isCanonicalUUID(elsewhere.headers["apns-id"] ?? ""))
            #expect(elsewhere.headers["apns-unique-id"] == nil)
            #expect(elsewhere.headers["content-type"] == "application/json")
        }
    }

    @Test("a push that breaks a rule is told which, in JSON", arguments: Refused.all)
    fileprivate func refusedPush(_ example: Refused) async throws {
        try await ForeignWorld.with(phones: 1) { world in
            let push = try world.push(to: world.startToken(1))
            let answer = try await world.curl(try example.change(push, world))
            #expect(answer.status == example.status)
            #expect(answer.body == #"{"reason":"\#(example.reason)"}"#)
            #expect(try world.phone(1).received.isEmpty)
        }
    }

    @Test("a dead token is told since when, in milliseconds")
    func deadToken() async throws {
        try await ForeignWorld.with(phones: 1) { world in
            let old = try world.startToken(1)
            let before = ForeignWorld.now * 1000
            _ = try world.simulator.control.perform([PhoneAction(.rotateStart, prefix: "p-")])
            let answer = try await world.curl(world.push(to: old))
            #expect(answer.status == 410)
            let body = try JSONValue(parsing: answer.body)
            #expect(body["reason"] == "Unregistered")
            #expect((before...ForeignWorld.now * 1000 + 999).contains(body["timestamp"]?.int64 ?? 0))
        }
    }

    @Test("a channel is made, read, listed, broadcast to and deleted, and is gone for good")
    func channel() async throws {
        try await ForeignWorld.with(phones: 1) { world in
            let wish = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
            let made = try await world.curl(world.channels("POST", body: wish).with("apns-request-id", Self.id))
            #expect(made.status == 201)
            #expect(made.body.isEmpty)
            #expect(made.headers["apns-request-id"] == Self.id)
            let id = try #require(made.headers["apns-channel-id"])

            let read = try await world.curl(world.channels("GET", channel: id))
            #expect(read.status == 200)
            #expect(try JSONValue(parsing: read.body) == JSONValue(parsing: wish))
            let all = try world.channels("GET").path("/1/apps/\(ForeignWorld.bundleID)/all-channels")
            let list = try await world.curl(all)
            #expect(list.status == 200)
            #expect(try JSONValue(parsing: list.body)["channels"] == [.string(id)])

            var join = PhoneAction(.join, prefix: "p-", activityID: Sample.final)
            join.channelID = id
            _ = try world.simulator.control.perform([join])
            let sent = try await world.curl(world.broadcast(to: id))
            #expect(sent.status == 200)
            #expect(sent.body.isEmpty)
            #expect(HeaderForms.isCanonicalUUID(sent.headers["apns-request-id"] ?? ""))
            #expect(try world.phone(1).received.map(\.verdict) == [.shown])
            var ordinary = try world.broadcast(to: id)
            ordinary.api = .device
            #expect(try await world.curl(ordinary).status == 200)

            let deleted = try await world.curl(world.channels("DELETE", channel: id))
            #expect(deleted.status == 204)
            #expect(deleted.body.isEmpty)
            let gone = [
                try await world.curl(world.channels("GET", channel: id)),
                try await world.curl(world.broadcast(to: id)),
                try await world.curl(world.channels("DELETE", channel: id)),
            ]
            #expect(gone.map(\.status) == [400, 400, 404])
            let reasons = ["ChannelNotRegistered", "ChannelNotRegistered", "BadPath"]
            #expect(gone.map(\.body) == reasons.map { #"{"reason":"\#($0)"}"# })
            #expect(try await world.curl(all).body == #"{"channels":[]}"#)
        }
    }

    @Test("broadcasts and channels that break a rule are told which")
    func refusedChannels() async throws {
        try await ForeignWorld.with(phones: 1, configure: { $0.channelLimit = 1 }) { world in
            let wish = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
            let made = try await world.curl(world.channels("POST", body: wish))
            let id = try #require(made.headers["apns-channel-id"])
            let broadcast = try world.broadcast(to: id)
            let create = try world.channels("POST", body: wish)
            let cases: [(CurlRequest, Int, String)] = [
                (create, 400, "CannotCreateChannelConfig"), (create.body("{"), 400, "BadRequestPayload"),
                (create.body(#"{"message-storage-policy":0}"#), 400, "MissingPushType"),
                (try world.channels("GET"), 400, "MissingChannelId"),
                (try world.channels("GET", channel: "AAAA"), 400, "BadChannelId"),
                (try world.channels("PUT", channel: id), 405, "MethodNotAllowed"),
                (broadcast.with("apns-expiration", nil), 400, "BadExpirationDate"),
                (broadcast.with("apns-expiration", "\(ForeignWorld.now + 60)"), 400, "BadExpirationDate"),
                (broadcast.with("apns-priority", nil), 400, "BadPriority"),
                (broadcast.with("apns-push-type", "alert"), 400, "InvalidPushType"),
                (broadcast.with("authorization", nil), 403, "MissingProviderToken"),
                (broadcast.path("/4/broadcasts/apps/\(ForeignWorld.activityTopic)"), 400, "TopicDisallowed"),
                (broadcast.body(String(repeating: "x", count: 5121)), 413, "PayloadTooLarge"),
            ]
            for (request, status, reason) in cases {
                let answer = try await world.curl(request)
                #expect(answer.status == status, "\(reason)")
                #expect(answer.body == #"{"reason":"\#(reason)"}"#)
            }
        }
    }
}

/// A push that breaks one rule.
private struct Refused: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: Int
    let reason: String
    let change: @Sendable (CurlRequest, ForeignWorld) throws -> CurlRequest

    init(
        _ words: String,
        _ status: Int,
        _ reason: String,
        _ change: @escaping @Sendable (CurlRequest, ForeignWorld) throws -> CurlRequest
    ) {
        testDescription = words
        self.status = status
        self.reason = reason
        self.change = change
    }

    static let all: [Refused] = [
        Refused("unknown path", 404, "BadPath") { push, _ in push.path("/2/device/ab") },
        Refused("no token", 400, "MissingDeviceToken") { push, _ in push.path("/3/device/") },
        Refused("a token never issued", 400, "BadDeviceToken") { push, _ in push.path("/3/device/abcd") },
        Refused("by GET", 405, "MethodNotAllowed") { push, _ in push.method("GET") },
        Refused("no provider token", 403, "MissingProviderToken") { push, _ in push.with("authorization", nil) },
        Refused("an old provider token", 403, "ExpiredProviderToken") { push, world in
            push.with("authorization", try world.authorization(issuedAt: ForeignWorld.now - 3700))
        },
        Refused("another key's signature", 403, "InvalidProviderToken") { push, world in
            push.with("authorization", try world.authorization(by: try P256PrivateKey.generate()))
        },
        Refused("no topic", 400, "MissingTopic") { push, _ in push.with("apns-topic", nil) },
        Refused("the bare bundle id", 400, "DeviceTokenNotForTopic") { push, _ in
            push.with("apns-topic", ForeignWorld.bundleID).with("apns-push-type", "alert")
        },
        Refused("another push type", 400, "InvalidPushType") { push, _ in push.with("apns-push-type", "alert") },
        Refused("priority 7", 400, "BadPriority") { push, _ in push.with("apns-priority", "7") },
        Refused("an id that is none", 400, "BadMessageId") { push, _ in push.with("apns-id", "42") },
        Refused("a long collapse id", 400, "BadCollapseId") { push, _ in
            push.with("apns-collapse-id", String(repeating: "x", count: 65))
        },
        Refused("a header twice", 400, "DuplicateHeaders") { push, _ in
            var push = push
            push.headers.append(("apns-priority", "5"))
            return push
        },
        Refused("no payload", 400, "PayloadEmpty") { push, _ in push.method("POST") },
        Refused("a payload of 4097 bytes", 413, "PayloadTooLarge") { push, _ in
            push.body(String(repeating: "x", count: 4097))
        },
    ]
}
