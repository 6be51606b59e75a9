import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@Suite("One token belongs to one device", .timeLimit(.minutes(2)))
struct TokenOwnerTests {
    private func owners(_ world: World) async throws -> [String] {
        let rows = try await world.database.query(
            "SELECT device_id FROM start_tokens JOIN devices USING (device_key) ORDER BY 1"
        )
        return try rows.decoded(as: String.self)
    }

    @Test("A start token goes to the device that reported it last, so its phone is started once")
    func startToken() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.register("d2", token: "5a02")
            try await world.register("d3", token: "5a01")
            #expect(try await owners(world) == ["d2", "d3"])
            try await world.start(to: Audience(allOfType: true))
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["5a01", "5a02"])
            #expect(try await world.startState("d1") == nil)
            // And back again.
            try await world.register("d1", token: "5a01")
            #expect(try await owners(world) == ["d1", "d2"])
        }
    }

    @Test("It is left to a device in the other environment")
    func otherEnvironment() async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.register("d1", token: "5a01", on: .sandbox)
            try await world.register("d2", token: "5a01")
            #expect(try await owners(world) == ["d1", "d2"])
        }
    }

    @Test("Of two reports at the same time one keeps it", arguments: [false, true])
    func race(isFirstLate: Bool) async throws {
        try await withWorld { world in
            let halt = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == (isFirstLate ? .afterCommit : .beforeCommit) { await halt.pass() }
            }
            let other = world.sibling(behind: gate)
            try await other.withIntake {
                async let first: Void = other.register("d1", token: "5a01")
                await halt.arrivals(1)
                try await world.register("d2", token: "5a01")
                halt.open()
                try await first
            }
            #expect(try await owners(world).count == 1)
        }
    }

    @Test("An update token goes to the card that was reported last; the older one is over, and says why")
    func updateToken() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.follow("d2", token: "aa02", known: 1)
            try await world.settle()
            try await world.follow("d3", token: "aa01", known: 1)
            try await world.settle()
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.subscription("d3") == "riding")
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["aa01", "aa02"])
            #expect(try await world.explain("d1").verdict.code == "token_moved")
            // The older one may come back with a token of its own.
            try await world.follow("d1", token: "bb01")
            try await world.settle()
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("Two reports of one update token in one group leave it to one card")
    func oneGroup() async throws {
        try await withWorld { world in
            try await world.start()
            async let first = world.follow("d1", token: "aa01", known: 1)
            async let second = world.follow("d2", token: "aa01", known: 1)
            _ = try await (first, second)
            let cards = try await world.tables.cards()
            #expect(cards.count { $0.state == "over" } == 1)
            #expect(cards.count { $0.token != nil } == 1)
        }
    }
}
