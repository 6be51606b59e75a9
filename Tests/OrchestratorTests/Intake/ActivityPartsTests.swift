import APITypes
import ActivityModel
import JSON
import Postgres
import Testing

@testable import Orchestrator

@Suite("What an activity shows of its delivery", .timeLimit(.minutes(2)))
struct ActivityPartsTests {
    @Test("Cards and starts are counted the same, whatever the size of a page", arguments: [1, 2, 3, 50_000])
    func pages(size: Int) async throws {
        try await withWorld { world in
            for number in 1...4 { try await world.register("d\(number)", token: "b\(number)") }
            try await world.start(to: World.devices("d1", "d2", "d3", "d4"))
            try await world.start("other")
            world.recorder.answer("b4", with: .badToken)
            try await world.settle()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)") }
            try await world.follow("d3", token: "aa03", in: "other", known: 1)
            try await world.update(score: 1)
            world.recorder.answer("aa02", with: .unavailable)
            try await world.settle()

            let rows = try await world.database.query("SELECT activity_key FROM activities ORDER BY activity_key")
            let keys = try rows.decoded(as: Int64.self)
            let parts = try await ActivityParts.read(keys, from: world.database, pageSize: size)
            var (first, other) = (try await world.show(), try await world.show("other"))
            parts.complete(&first, key: keys[0])
            parts.complete(&other, key: keys[1])
            #expect(
                first.progress
                    == DeliveryProgress(destinations: 2, current: 1, pending: 1, waitingForToken: 1)
            )
            #expect(first.starts == StartProgress(sent: 1, confirmed: 2, failed: 1, reasons: ["400 BadDeviceToken": 1]))
            #expect(other.progress == DeliveryProgress(destinations: 1, current: 1))
            #expect(other.starts == StartProgress())
        }
    }
}
