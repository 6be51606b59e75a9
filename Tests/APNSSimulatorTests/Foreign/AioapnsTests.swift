import ActivityModel
import Cryptography
import Foundation
import JSON
import TestSupport
import Testing

@testable import APNSSimulator

/// `aioapns` from the Python package index, which thousands of servers send with.
@Suite("The simulator and aioapns", .timeLimit(.minutes(2)))
struct AioapnsTests {
    @Test("a thousand starts at once reach a thousand phones")
    func starts() async throws {
        try await ForeignWorld.with(phones: 1000) { world in
            let body = try JSONValue(parsing: ForeignWorld.startBody.text)
            let pushes = try (1...1000).map { Push(try world.startToken($0), "liveactivity", body, priority: 10) }
            let answers = try await send(pushes, in: world, connections: 2)
            #expect(answers == Array(repeating: Answer(status: 200), count: 1000))
            for number in 1...1000 {
                #expect(try world.phone(number).received.map(\.verdict) == [.started], "phone \(number)")
            }
        }
    }

    @Test("alerts and updates are taken; a bad token and a dead one are told apart, with the time of death")
    func answers() async throws {
        try await ForeignWorld.with(phones: 1) { world in
            let start = try JSONValue(parsing: ForeignWorld.startBody.text)
            let alert: JSONValue = ["aps": ["alert": ["title": "Hello", "body": "World"]]]
            let old = try world.startToken(1)
            let before = ForeignWorld.now * 1000
            _ = try world.simulator.control.perform([PhoneAction(.rotateStart, prefix: "p-")])
            let device = try #require(try world.phone(1).deviceToken)
            var pushes = [
                Push(device, "alert", alert, topic: ForeignWorld.bundleID, priority: 5, timeToLive: 60),
                Push(try world.startToken(1), "liveactivity", start), Push(old, "liveactivity", start),
                Push("abcdef", "liveactivity", start), Push(device, "liveactivity", start),
                Push(device, "alert", alert),
            ]
            pushes[5].message = ["aps": ["alert": .string(String(repeating: "x", count: 4097))]]
            pushes[5].topic = ForeignWorld.bundleID
            let answers = try await send(pushes, in: world)
            try #require(answers.count == 6)
            #expect(answers[0] == Answer(status: 200))
            #expect(answers[1] == Answer(status: 200))
            #expect(answers[2].status == 410)
            #expect(answers[2].reason == "Unregistered")
            #expect((before...ForeignWorld.now * 1000 + 999).contains(answers[2].timestamp ?? 0))
            #expect(answers[3] == Answer(status: 400, reason: "BadDeviceToken"))
            #expect(answers[4] == Answer(status: 400, reason: "DeviceTokenNotForTopic"))
            #expect(answers[5] == Answer(status: 413, reason: "PayloadTooLarge"))
            #expect(try world.phone(1).received.map(\.verdict) == [.delivered, .started])
        }
    }

    @Test("a key that Apple does not know signs nothing that it takes")
    func foreignKey() async throws {
        try await ForeignWorld.with(phones: 1) { world in
            let push = Push(try world.startToken(1), "liveactivity", ["aps": [:]])
            let answers = try await send([push], in: world, key: try P256PrivateKey.generate())
            #expect(answers == [Answer(status: 403, reason: "InvalidProviderToken")])
            #expect(try world.phone(1).received.isEmpty)
        }
    }
}

/// One push, as the script takes it.
private struct Push {
    var token: String
    var pushType: String
    var message: JSONValue
    var topic: String?
    var priority: Int?
    var timeToLive: Int?

    init(
        _ token: String,
        _ pushType: String,
        _ message: JSONValue,
        topic: String? = nil,
        priority: Int? = nil,
        timeToLive: Int? = nil
    ) {
        self.token = token
        self.pushType = pushType
        self.message = message
        self.topic = topic
        self.priority = priority
        self.timeToLive = timeToLive
    }

    var json: JSONValue {
        var fields: JSONObject = ["token": .string(token), "push_type": .string(pushType), "message": message]
        fields["topic"] = topic.map { .string($0) }
        fields["priority"] = priority.map { .number(JSONNumber($0)) }
        fields["time_to_live"] = timeToLive.map { .number(JSONNumber($0)) }
        return .object(fields)
    }
}

/// What aioapns was told of it.
private struct Answer: Decodable, Equatable {
    var status: Int
    var reason: String?
    var timestamp: Int64?
}

private func send(
    _ pushes: [Push],
    in world: ForeignWorld,
    connections: Int = 1,
    key: P256PrivateKey? = nil
) async throws -> [Answer] {
    let keyFile = world.folder.appending(path: "AuthKey.p8")
    try (key ?? world.key).pem().write(to: keyFile, atomically: true, encoding: .ascii)
    let job = world.folder.appending(path: "job.json")
    let text = JSONValue.object([
        "host": .string(world.addresses.host), "port": .number(JSONNumber(Int(try world.port(.device)))),
        "ca_file": .string(world.addresses.caFile), "key_file": .string(keyFile.path), "key_id": "KEY1234567",
        "team_id": "TEAM123456", "topic": .string(ForeignWorld.activityTopic),
        "connections": .number(JSONNumber(connections)), "pushes": .array(pushes.map(\.json)),
    ])
    try Data(text.serialized()).write(to: job)
    let script = URL(filePath: #filePath).appending(path: "../../../ForeignPeers/aioapns_pushes.py").standardized
    let output = try await Program.python().run([script.path, job.path], within: .seconds(90))
    try #require(output.status == 0, "\(output.text)")
    return try JSONDecoder().decode([Answer].self, from: Data(output.text.utf8))
}
