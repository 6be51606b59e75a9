import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Record

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

            let rows = try await world.database.query(
                "SELECT activity_key, revision FROM activities ORDER BY activity_key"
            )
            let activities = try rows.decoded(as: (Int64, Int64).self)
            let keys = activities.map(\.0)
            let parts = try await ActivityParts.read(
                Dictionary(uniqueKeysWithValues: activities),
                counter: DeliveryCounter(database: world.database, pageSize: size),
                from: world.database
            )
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

    @Test("The counts of a large activity are kept until its next revision")
    func large() async throws {
        try await withWorld { world in
            for number in 1...3 { try await world.register("d\(number)", token: "b\(number)") }
            try await world.start(to: World.devices("d1", "d2", "d3"))
            try await world.settle()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)") }
            try await world.settle()
            let rows = try await world.database.query("SELECT activity_key FROM activities")
            let key = try #require(try rows.decoded(as: Int64.self).first)
            let clock = SteppingClock(step: .seconds(1))
            let counter = DeliveryCounter(database: world.database, largeSize: 2) { clock.now() }
            func destinations(_ revision: Int64?) async throws -> Int? {
                try await counter.cards(of: [key: revision])[key]?.progress.destinations
            }
            #expect(try await destinations(1) == 2)
            try await world.follow("d3", token: "aa03")
            try await world.settle()
            #expect(try await destinations(1) == 2)
            #expect(try await destinations(nil) == 2)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await destinations(2) == 3)
        }
    }
}
