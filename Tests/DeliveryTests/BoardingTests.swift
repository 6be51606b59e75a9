import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Cards
@testable import Delivery
@testable import DeliveryStore
@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Cards that get on their ring in the transaction of their report", .timeLimit(.minutes(2)))
struct BoardingTests {
    /// What there is to do for workers: rings that are due, and announcements.
    private func work(_ world: World) async throws -> Int64? {
        try await world.number(
            """
            SELECT (SELECT count(*) FROM segments WHERE due_at IS NOT NULL) + (SELECT count(*) FROM wake_ups)
            """
        )
    }

    @Test("A card that shows the newest state rides at once and wakes nobody; the next change reaches it")
    func boards() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            #expect(try await world.follow("d1", token: "aa01", known: 1).state == .riding)
            // The phone confirms what its new token brought it.
            #expect(try await world.follow("d1", token: "aa02", known: 1).state == .riding)
            #expect(try await work(world) == 0)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
            #expect(try await world.show().progress.current == 1)
        }
    }

    @Test("So does a card that was started with the newest state")
    func started() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "a1")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.follow("d1", token: "aa01").state == .riding)
            #expect(try await work(world) == 0)
            _ = world.recorder.take()
            try await world.update(score: 1, alert: "Goal")
            try await world.settle()
            #expect(world.recorder.take().map(\.alert) == ["Goal"])
        }
    }

    @Test(
        "A few of a thousand that are due are looked up by their keys, also by a plan that was made while there were none"
    )
    func byKey() async throws {
        try await withWorld { world in
            try await world.start()
            let counting: Query = """
                SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 FROM pg_stat_xact_user_tables
                WHERE relname = 'subscriptions'
                """
            let (before, after) = try await world.database.withTransaction { connection in
                let none = [CardKey(activityKey: 1, deviceKey: 1)]
                let rows = try await connection.pipeline([
                    "ANALYZE subscriptions", .planningOnce, Boarding.statement(none),
                    """
                    INSERT INTO devices (bundle_id, device_id, environment)
                    SELECT \(world.app.rawValue), 'd' || n, 'production' FROM generate_series(1, 1000) AS n
                    """,
                    """
                    INSERT INTO subscriptions (activity_key, device_key, mode, state, due_at, update_token, known_revision)
                    SELECT a.activity_key, d.device_key, 'token', 'due', clock_timestamp(), int8send(d.device_key), 0
                    FROM devices AS d CROSS JOIN activities AS a
                    RETURNING activity_key, device_key
                    """,
                ])
                let cards = try rows[4].decoded(as: (Int64, Int64).self).prefix(3).map {
                    CardKey(activityKey: $0, deviceKey: $1)
                }
                let results = try await connection.pipeline([counting, Boarding.statement(cards), counting])
                return (try results[0].single(Int64.self) ?? 0, try results[2].single(Int64.self) ?? 0)
            }
            // Once to see whether it may get on, and once more to put it there.
            #expect(after - before <= 6)
        }
    }

    /// Why a card is served by its own row all the same.
    enum Obstacle: CaseIterable {
        case olderState, unconfirmed, unknown, leaving, leased, due, held, ended
    }

    @Test(
        "A card that is owed something does not, nor where a ring is leased, due or held",
        arguments: Obstacle.allCases
    )
    func obstacles(obstacle: Obstacle) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.settle()
            var leases: [SegmentLease] = []
            var known: Revision? = 2
            switch obstacle {
            case .olderState: known = 1
            case .unconfirmed:
                try await world.follow("d1", token: "aa01")
                try await world.settle()
                known = nil
            case .unknown: known = nil
            case .leaving:
                try await world.register("d1", token: "a1")
                try await world.start("final-2", to: World.devices("d1"))
                try await world.settle()
                try await world.orchestrator.intake.unsubscribe(
                    world.app,
                    ActivityID(stored: "final-2"),
                    DeviceID(stored: "d1")
                )
                try await world.settle()
                known = 1
            case .leased:
                try await world.database.execute("UPDATE segments SET due_at = now()")
                leases = try await world.orchestrator.deliveryStore.segments.claim(limit: 1)
                try await world.database.execute("UPDATE segments SET due_at = NULL")
            case .due: try await world.database.execute("UPDATE segments SET due_at = now()")
            case .held: break
            case .ended:
                try await world.end()
                try await world.settle()
                known = 3
            }
            _ = world.recorder.take()
            _ = world.orchestrator.deliveryStore.wakeUps.takeLook()
            let id = obstacle == .leaving ? "final-2" : "final"
            let answer: SubscriptionAnswer
            if obstacle == .held {
                answer = try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM segments FOR NO KEY UPDATE")
                    return try await world.follow("d1", token: "aa02", in: id, known: known)
                }
            } else {
                answer = try await world.follow("d1", token: "aa02", in: id, known: known)
            }
            #expect(answer.state == .due)
            let isOwed = [.olderState, .unconfirmed, .unknown, .leaving].contains(obstacle)
            // Who is owed nothing can wait for the dispatcher to look by itself.
            #expect(world.orchestrator.deliveryStore.wakeUps.takeLook() == isOwed)
            try await world.orchestrator.deliveryStore.segments.release(leases)
            try await world.settle()
            #expect(world.recorder.take().count == (isOwed ? 1 : 0))
            #expect(try await world.subscription("d1") == (obstacle == .leaving ? nil : "riding"))
            guard ![.leaving, .ended].contains(obstacle) else { return }
            try await world.pass(5)
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test("A worker that only put cards on their ring leaves those that come meanwhile for a later look")
    func gathering() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.database.execute("UPDATE segments SET due_at = now()")
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            #expect(try await world.follow("d1", token: "aa01", known: 1).state == .due)
            let mayHaveMore = await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).run()
            #expect(!mayHaveMore)
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("A ring whose change is held back, or that fails, takes up who has that change", arguments: [false, true])
    func waiting(hasFailed: Bool) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.update(score: 1)
            if hasFailed { world.recorder.answerAll(with: .unavailable) }
            try await world.settle()
            if !hasFailed {
                try await world.database.execute("UPDATE segments SET due_at = now() + interval '1 hour'")
            }
            #expect(try await world.follow("d2", token: "aa02", known: 2).state == .riding)
            if hasFailed { world.recorder.answerAll(with: nil) }
            _ = world.recorder.take()
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == (hasFailed ? ["aa01"] : []))
            try await world.pass(5)
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["aa01", "aa02"])
        }
    }

    /// A daemon whose reports halt when all is written and nothing committed, which is so where they keep an answer.
    private func withHaltedReport(
        _ world: World,
        meanwhile body: () async throws -> Void
    ) async throws -> SubscriptionAnswer {
        let gate = Gate()
        let other = world.sibling(
            behind: StatementGate { (moment) async throws(PostgresError) in
                if moment == .beforeCommit { await gate.pass() }
            }
        )
        var answer: SubscriptionAnswer?
        try await other.withIntake {
            let request = SubscriptionRequest(
                .updateToken(try #require(PushToken(hex: "aa01"))),
                knownRevision: 1,
                environment: .production
            )
            let card = ReportedCard(
                app: world.app,
                activity: ActivityID(stored: "final"),
                device: DeviceID(stored: "d1"),
                request: request,
                idempotencyKey: IdempotencyKey(
                    scope: Array(repeating: 1, count: 32),
                    app: world.app,
                    bodyHash: Array(repeating: 2, count: 32)
                )
            )
            async let answers = other.orchestrator.intake.accept([card])
            await gate.arrivals(1)
            try await body()
            gate.open()
            answer = try await answers.first?.get()
        }
        return try #require(answer)
    }

    @Test("A change that is accepted while a card gets on the ring reaches it, though it was to pass the ring as empty")
    func acceptAfter() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d0", token: "aa00", known: 1)
            try await world.report("d0", .ended)
            try await world.settle()
            var accepted: Task<Accepted, any Error>?
            let answer = try await withHaltedReport(world) {
                accepted = Task { try await world.update(score: 1) }
                try await world.someoneWaits()
            }
            #expect(answer.state == .riding)
            #expect(try await accepted?.value.revision == 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }

    @Test("A worker can lease a ring that is due while reports come")
    func claim() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.database.execute("UPDATE segments SET due_at = now()")
            let answer = try await withHaltedReport(world) {
                let leases = try await world.orchestrator.deliveryStore.segments.claim(limit: 1)
                #expect(leases.count == 1)
                try await world.orchestrator.deliveryStore.segments.release(leases)
            }
            #expect(answer.state == .due)
            try await world.settle()
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    /// What phones show that were sent nothing, by their tokens.
    private final class Shown: Sendable {
        let scores = Mutex<[String: Int64]>([:])
    }

    @Test("Whoever is first, all phones end with the newest state", arguments: [UInt64(1), 2, 3])
    func race(seed: UInt64) async throws {
        try await withWorld { world in
            let (activities, changes, phones) = (0..<4, Int64(12), 0..<6)
            for number in activities {
                try await world.start("a\(number)")
                // What its version of the app can decode is known, so that a report need not wait for a change.
                try await world.follow("gone", token: "aa00", in: "a\(number)", known: 1)
                try await world.report("gone", .ended, in: "a\(number)")
            }
            try await world.settle()
            let shown = Shown()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in activities {
                    group.addTask {
                        var random = SeededRandom(seed: seed * 10 + UInt64(number))
                        for score in 1...changes {
                            try await world.update("a\(number)", score: score)
                            for _ in 0..<Int.random(in: 0..<3, using: &random) { try await world.settle() }
                        }
                    }
                    group.addTask {
                        for phone in phones {
                            let revision = try await world.show("a\(number)").revision
                            let token = "bb0\(number)0\(phone)"
                            shown.scores.withLock { $0[token] = revision - 1 }
                            try await world.follow(
                                "d\(number)-\(phone)",
                                token: token,
                                in: "a\(number)",
                                known: revision
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
            for _ in 0..<4 {
                try await world.pass(5)
                try await world.settle()
            }
            let all = shown.scores.withLock { $0 }
            #expect(all.count == activities.count * phones.count)
            for (token, score) in all {
                #expect((world.recorder.pushes(to: token).last?.score ?? score) == changes, "\(token)")
            }
        }
    }
}
