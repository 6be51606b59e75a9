import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("Deleting activities beside other work", .timeLimit(.minutes(2)))
struct ActivityDeletionTests {
    private static let month: Int64 = 31 * 86_400

    private func deletion(_ world: World) async throws -> ActivityDeletion.Outcome {
        let deletion = ActivityDeletion(cause: .age(.seconds(30 * 86_400)), after: .oldest)
        return try await world.database.withTransaction { try await deletion.run(on: $0) }
    }

    private func delete(_ world: World) async throws -> Int {
        try await RetentionDuty(orchestrator: world.orchestrator).deleteDue()
    }

    /// Activities that ended at moments that differ, without anything else.
    private func addEnded(_ count: Int, _ world: World) async throws {
        _ = try await world.database.execute(
            """
            WITH ended AS (
                INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes,
                    start_body, started_at, ended_at)
                SELECT \(world.app.rawValue), 'old' || n, 'production', 'Game', 'tokens', 'ended', '{}', '{}',
                       now() - interval '60 days', now() - interval '50 days' + n / 3 * interval '1 second'
                FROM generate_series(1, \(count)) AS n
                RETURNING activity_key
            )
            INSERT INTO changes (activity_key, revision, kind, content_state, urgency, accepted_at)
            SELECT activity_key, 1, 'start', '{}', 'routine', now() - interval '60 days' FROM ended
            """
        )
        try await world.tables.addWork()
    }

    @Test(
        "One with many devices goes in parts, can be read as long as it is there, and a dead daemon's work is gone on with"
    )
    func parts() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2 * ActivityDeletion.rowLimit + 100)
            try await world.end(score: 1)
            try await world.settle()
            try await world.pass(Self.month)
            let first = try await deletion(world)
            #expect(first.deleted == 0 && first.next == .oldest)
            #expect(try await world.show().contentState == World.state(1))
            #expect(
                try await world.tables.cards().count == ActivityDeletion.rowLimit + 100
            )
            let other = world.sibling()
            #expect(try await delete(other) == 1)
            #expect(try await world.tables.cards().isEmpty)
        }
    }

    @Test("What stays does not keep the pass from what is behind it")
    func passesOver() async throws {
        try await withWorld { world in
            let count = 2 * ActivityDeletion.batchSize + 10
            try await addEnded(count, world)
            let stays = 3...ActivityDeletion.batchSize + 5
            try await world.tables.setWork(dueIn: 0, of: stays.map { "old\($0)" })
            #expect(try await delete(world) == count - stays.count)
            #expect(try await world.number("SELECT count(*) FROM activities") == Int64(stays.count))
        }
    }

    @Test("Two daemons at once delete each activity once")
    func atOnce() async throws {
        try await withWorld { world in
            let count = 5 * ActivityDeletion.batchSize
            try await addEnded(count, world)
            let other = world.sibling()
            async let one = delete(world)
            async let two = delete(other)
            let (first, second) = try await (one, two)
            let rest = try await delete(other)
            #expect(first + second + rest == count)
            #expect(first + second >= count - ActivityDeletion.batchSize, "who is not let in leaves it to the other")
            #expect(try await world.tables.workRows() == 0)
        }
    }

    @Test("While another daemon is about it nothing is done, and rows that somebody holds are not waited for")
    func waitsForNobody() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2)
            try await world.end()
            try await world.settle()
            try await world.pass(Self.month)
            let holds: [Query] = [
                "SELECT pg_advisory_xact_lock(hashtextextended('tally/retention', 0))",
                EngineTables.cardLock(), "SELECT FROM activities FOR KEY SHARE",
            ]
            for hold in holds {
                let deleted = try await world.database.withTransaction { connection in
                    _ = try await connection.query(hold)
                    return try await delete(world)
                }
                #expect(deleted == 0)
                #expect(try await world.show().state == .ended)
            }
            #expect(try await delete(world) == 1)
        }
    }

    @Test(
        "What somebody held goes a moment later, and not with the next pass",
        arguments: [EngineTables.oneCardHeld, "SELECT FROM activities FOR NO KEY UPDATE"]
    )
    func heldForAMoment(hold: Query) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2)
            try await world.end()
            try await world.settle()
            try await world.pass(Self.month)
            let (passes, passed) = AsyncStream.makeStream(of: Void.self)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .afterCommit { passed.yield() }
            }
            let duty = RetentionDuty(orchestrator: world.sibling(behind: gate).orchestrator)
            let running = try await world.database.withTransaction { connection in
                _ = try await connection.query(hold)
                let running = Task { await duty.run() }
                for await _ in passes { break }
                return running
            }
            try await eventually("the activity is deleted") {
                try await world.number("SELECT count(*) FROM activities") == 0
            }
            running.cancel()
            await running.value
        }
    }

    @Test(
        "A report that comes at the same moment gets 404, and those that were accepted with it stay",
        arguments: [true, false],
        [1, 2]
    )
    func lateReport(hasToken: Bool, together: Int) async throws {
        try await withWorld { world in
            try await world.start("old")
            try await world.end("old")
            try await world.start("new")
            try await world.settle()
            if together == 2 { try await world.follow("d0", token: "aa00", in: "old", known: 2) }
            try await world.settle()
            let cards = try ["old", "new"].prefix(together).enumerated().map { place, id in
                let report = SubscriptionRequest.Report.updateToken(try #require(PushToken(hex: "aa0\(place)")))
                return ReportedCard(
                    app: world.app,
                    activity: ActivityID(stored: id),
                    device: DeviceID(stored: "d\(place)"),
                    request: SubscriptionRequest(
                        id == "new" || hasToken ? report : .ended,
                        environment: .production
                    )
                )
            }
            let answers = try await world.database.withTransaction { connection in
                // Of the deletion all is done but the commit.
                _ = try await connection.execute("DELETE FROM activities WHERE activity_id = 'old'")
                let reports = Task { await world.orchestrator.intake.accept(cards) }
                try await world.someoneWaits()
                return reports
            }
            let results = await answers.value
            #expect(throws: Problem.notFound("the activity")) { try results[0].get() }
            guard together == 2 else { return }
            #expect(try results[1].get().activityState == .live)
            #expect(try await world.subscription("d1") == "due")
        }
    }
}
