import OrchestratorTestSupport
import Postgres
import Store
import Synchronization
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator

@Suite("The order in which due cards are served", .timeLimit(.minutes(2)))
struct CatchUpOrderTests {
    /// A turn of the cards up to a device. Half of the activity's cards are due, and those of the greater devices are due first.
    private func turn(
        in world: World,
        through last: Int64
    ) async throws -> CatchUpTurn {
        try await world.expireLeases()
        let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
        let look = try #require(try await world.orchestrator.deliveryStore.segments.look(lease))
        return CatchUpTurn(
            room: world.orchestrator.delivery,
            slot: nil,
            lease: lease,
            progress: SegmentProgress(
                wakes: look.progress.wakes,
                carousel: look.progress.carousel,
                failures: 0,
                range: RingRange(after: 0, through: last),
                rings: 2,
                alertStamp: nil
            ),
            activity: look.activity
        )
    }

    @Test("A ring reads its own due cards, and not those of other rings that have been due for longer")
    func ownCards() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start()
            try await world.crowd(3_000)
            try await world.settle()
            try await world.update(score: 1)
            let middle = try #require(try await world.number("SELECT min(device_key) + 1500 FROM subscriptions"))
            // The server plans for what it has counted: nobody is due.
            try await world.database.execute("ANALYZE subscriptions")
            try await world.database.execute(
                """
                UPDATE subscriptions SET state = 'due', due_at = now() - interval '1 minute' * (device_key - \(middle) + 2000)
                WHERE device_key > \(middle) OR device_key > \(middle) - 5
                """
            )
            let turn = try await turn(in: world, through: middle)
            _ = world.recorder.take()
            let before = try await world.rowsRead("subscriptions")
            var place: Int64 = 0
            _ = try await turn.run(behind: &place)
            #expect(world.recorder.take().count == 5)
            // Besides, it looks whether more than 1,000 follow.
            #expect(try await world.rowsRead("subscriptions") - before < 1_100)
        }
    }

    @Test("Cards that are behind by different changes cost no question each; each hears the newest alert if it has not")
    func differentRevisions() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(5)
            try await world.settle()
            // The third of these changes, revision 4, has the alert.
            for score in 1...5 {
                try await world.pass(10)
                try await world.update(score: Int64(score), alert: score == 3 ? "Messi" : nil)
                if score < 5 { try await world.settle() }
            }
            let questions = Mutex(0)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .betweenTransactions { questions.withLock { $0 += 1 } }
            }
            let daemon = world.sibling(behind: gate)
            var asked: [Int] = []
            // At first all stand at revision 1, twice, because the first turn reads what is kept for others.
            for revision: Query in ["1", "1", "device_key - (SELECT min(device_key) FROM subscriptions) + 1"] {
                try await world.database.execute(
                    """
                    UPDATE subscriptions SET state = 'due', due_at = now(), confirmed_revision = 0,
                        known_revision = \(part: revision), heard_revision = \(part: revision)
                    """
                )
                let turn = try await turn(in: daemon, through: .max)
                _ = world.recorder.take()
                questions.withLock { $0 = 0 }
                var place: Int64 = 0
                _ = try await turn.run(behind: &place)
                asked.append(questions.withLock { $0 })
            }
            let pushes = world.recorder.take().sorted { $0.destination < $1.destination }
            #expect(pushes.map(\.score) == [5, 5, 5, 5, 5])
            #expect(pushes.map(\.alert) == ["Messi", "Messi", "Messi", nil, nil])
            // Those with the alert and those without it each ask for a priority.
            #expect(asked[2] <= asked[1] + 1)
        }
    }

    @Test("Cards that are due again at once do not keep the others waiting")
    func goesRound() async throws {
        var settings = OrchestratorSettings()
        settings.stretchSize = 2
        try await withWorld(settings: settings) { world in
            try await world.start()
            try await world.crowd(5)
            try await world.settle()
            try await world.update(score: 1)
            var place: Int64 = 0
            var served: [[String]] = []
            for _ in 0..<4 {
                try await world.database.execute(
                    "UPDATE subscriptions SET state = 'due', due_at = now(), known_revision = 1, confirmed_revision = 0"
                )
                let turn = try await turn(in: world, through: .max)
                _ = world.recorder.take()
                _ = try await turn.run(behind: &place)
                served.append(world.recorder.take().map(\.destination).sorted())
            }
            let tokens = (1...5).map(World.crowdToken)
            #expect(served == [[tokens[0], tokens[1]], [tokens[2], tokens[3]], [tokens[4]], [tokens[0], tokens[1]]])
        }
    }
}
