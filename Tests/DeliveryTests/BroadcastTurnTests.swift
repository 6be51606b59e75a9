import APITypes
import ActivityModel
import Cards
import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Delivery
@testable import Orchestrator

@Suite("Broadcasts that leave nothing else to do", .timeLimit(.minutes(2)))
struct BroadcastTurnTests {
    private func segment(_ world: World) async throws -> String? {
        try await world.word(
            """
            SELECT concat_ws(' ', completed_revision, CASE WHEN due_at IS NOT NULL THEN 'due' END,
                             CASE WHEN lease_owner IS NOT NULL THEN 'leased' END)
            FROM segments WHERE segment = -1
            """
        )
    }

    @Test("The segment rests with its broadcast; a change that comes meanwhile goes next")
    func goesNext() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1)
            let gate = world.recorder.close()
            async let turn: Void = world.settle()
            await gate.arrivals()
            try await world.update(score: 2)
            world.recorder.open()
            try await turn
            #expect(world.recorder.take().map(\.score) == [1, 2])
            #expect(try await segment(world) == "3")
        }
    }

    @Test("Who reported before the channel was read for a broadcast has it, not who did in the same microsecond")
    func joinedAtTheLook() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a18", os: "18.0")
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1)
            try await world.report("d1", .channel)
            let rows = try await world.database.query("SELECT activity_key, registered_at FROM subscriptions")
            let (key, joined) = try #require(try rows.first(as: (Int64, PGTimestamp).self))
            for (readAt, state) in [(joined, "due"), (PGTimestamp(microseconds: joined.microseconds + 1), "riding")] {
                try await world.database.execute(SubscriptionRows.caughtUp(2, of: key, before: readAt, limit: 100))
                #expect(try await world.subscription("d1") == state)
            }
        }
    }

    @Test("An end that is accepted while a broadcast waits for its stamp lets none out behind it")
    func endBeforeStamp() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1)
            try await world.pass(40)
            try await world.settle(behind: { try await world.end(score: 9) })
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("An update that is accepted meanwhile keeps nothing back: where they come fast nothing would ever leave")
    func updateBeforeStamp() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1)
            try await world.pass(40)
            try await world.settle(behind: { try await world.update(score: 9) })
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [1, 9])
            #expect(pushes.map(\.timestamp) == Set(pushes.map(\.timestamp)).sorted())
        }
    }

    @Test("It rests in the transaction of the broadcast, without another look", arguments: [false, true])
    func rests(hasMore: Bool) async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1, mustDeliver: hasMore)
            if hasMore { try await world.update(score: 2) }
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            let look = try #require(try await world.orchestrator.deliveryStore.segments.look(lease))
            let turn = try await ChannelTurn(
                room: world.orchestrator.delivery,
                slot: nil,
                lease: lease,
                activity: look.activity,
                progress: look.progress,
                newest: look.newest
            ).run(look.channel)
            #expect(world.recorder.take().map(\.score) == [1])
            #expect("\(turn)" == (hasMore ? "worked" : "rested"))
            #expect(try await segment(world) == (hasMore ? "2 due leased" : "2"))
        }
    }

    @Test("Who joins late is sent another broadcast when it is time, though the segment has been looked at before")
    func lateJoiner() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.report("d1", .channel, known: 0)
            // Others who join within the second are to share it.
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await segment(world) == "1 due")
            try await world.pass(2)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0])
            #expect(try await segment(world) == "1")
        }
    }

    @Test("Changes that must be delivered leave one after the other")
    func barriers() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for score in 1...3 { try await world.update(score: Int64(score), mustDeliver: true) }
            for _ in 0..<4 {
                try await world.pass(2)
                try await world.settle()
            }
            #expect(world.recorder.take().map(\.score) == [1, 2, 3])
            #expect(try await segment(world) == "4")
        }
    }
}
