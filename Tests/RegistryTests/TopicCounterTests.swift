import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Registry
import TestSupport
import Testing

@testable import Orchestrator

@Suite("How many follow a topic", .timeLimit(.minutes(2)))
struct TopicCounterTests {
    private let topics = ["a", "b", "c", "d"].map { Topic(stored: $0) }

    private func put(_ topics: [Topic], of follower: UserOrDevice, in world: World) async throws {
        _ = try await world.orchestrator.putTopics(world.app, of: follower, .whole(topics))
    }

    @Test("It is counted the same, whatever a statement may count", arguments: [1, 2, 3, 4, 5, 1_000])
    func pages(size: Int) async throws {
        try await withWorld { world in
            for number in 1...3 {
                try await put([topics[0]], of: .user(UserID(stored: "u\(number)")), in: world)
            }
            try await put([topics[3]], of: .user(UserID(stored: "u3")), in: world)
            try await world.register("phone")
            try await put([topics[0], topics[1]], of: .device(DeviceID(stored: "phone")), in: world)
            let other = BundleID(stored: "com.example.other")
            try await world.database.execute(
                "INSERT INTO apps (bundle_id, team_id) VALUES (\(other.rawValue), 'ABCDE12345')"
            )
            _ = try await world.orchestrator.putTopics(other, of: .user(UserID(stored: "u9")), .whole(topics))

            let counter = TopicCounter(database: world.database, pageSize: size)
            let counts = try await counter.counts(of: topics, in: world.app)
            #expect(counts[topics[0]] == TopicCounter.Count(users: 2, devices: 1))
            #expect(counts[topics[1]] == TopicCounter.Count(devices: 1))
            #expect(counts[topics[2]] == TopicCounter.Count())
            #expect(counts[topics[3]] == TopicCounter.Count(users: 1))
            // Three followers are enough, and the first topic is done then.
            let hasty = TopicCounter(database: world.database, pageSize: min(size, 2), enough: 3)
            #expect(try await Set(hasty.counts(of: topics, in: world.app).keys) == [topics[0]])
        }
    }

    @Test("Many followers are counted again after a while, few each time, those of another app on their own")
    func kept() async throws {
        try await withWorld { world in
            let clock = SteppingClock(step: .seconds(1))
            let counter = TopicCounter(database: world.database, pageSize: 1_000, largeSize: 2) { clock.now() }
            func users() async throws -> [Int?] {
                let counts = try await counter.counts(of: topics, in: world.app)
                return topics.map { counts[$0]?.users }
            }
            try await put(Array(topics[0...1]), of: .user(UserID(stored: "u1")), in: world)
            try await put([topics[0]], of: .user(UserID(stored: "u2")), in: world)
            #expect(try await users() == [2, 1, 0, 0])
            try await put(Array(topics[0...1]), of: .user(UserID(stored: "u3")), in: world)
            #expect(try await users() == [2, 2, 0, 0])
            let other = BundleID(stored: "com.example.other")
            #expect(try await counter.counts(of: [topics[0]], in: other)[topics[0]]?.users == 0)
            clock.advance(by: .seconds(30))
            #expect(try await users() == [3, 2, 0, 0])
        }
    }
}
