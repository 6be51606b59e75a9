import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator

@Suite("Rings that are served together", .timeLimit(.minutes(2)))
struct SmallRingTests {
    /// Starts activities `a1`, `a2`, … with a phone each, whose token is the number of its activity; all at rest.
    private func orders(_ count: Int, in world: World) async throws {
        for number in 1...count {
            try await world.start("a\(number)")
            try await world.follow("d\(number)", token: "aa0\(number)", in: "a\(number)", known: 1)
        }
        try await world.settle()
        _ = world.recorder.take()
    }

    private func group(in world: World) async throws -> SegmentGroup {
        try await world.orchestrator.deliveryStore.segments.takeAnnouncements()
        return SegmentGroup(
            room: world.orchestrator.delivery,
            slot: nil,
            segments: try await world.orchestrator.deliveryStore.segments.claim(limit: 100).map {
                LeasedSegment(lease: $0)
            }
        )
    }

    private func resting(_ world: World) async throws -> Int64? {
        try await world.number("SELECT count(*) FROM segments WHERE due_at IS NULL AND lease_owner IS NULL")
    }

    @Test("Each activity's phone gets its newest state once, and what was decided and merged is told")
    func together() async throws {
        try await withWorld { world in
            try await orders(5, in: world)
            try await world.update("a1", score: 9)
            for number in 1...5 { try await world.update("a\(number)", score: Int64(number)) }
            let group = try await group(in: world)
            let rings = await group.smallSegments().compactMap(\.update)
            #expect(rings.count == 5)
            #expect(await group.run().hadTooMuch == false)
            let pushes = world.recorder.take().sorted { $0.destination < $1.destination }
            #expect(pushes.map(\.destination) == ["aa01", "aa02", "aa03", "aa04", "aa05"])
            #expect(pushes.map(\.score) == [1, 2, 3, 4, 5])
            #expect(pushes.allSatisfy { $0.priority == .five })
            #expect(try await resting(world) == 5)
            #expect(try await world.number("SELECT count(*) FROM changes WHERE revision = 2 AND merged_into = 3") == 1)
            #expect(
                try await world.events(.changesMerged).map(\.detail) == [["into": 3, "revisions": [2], "count": 1]]
            )
            for number in 1...5 {
                let story = try await world.explain("d\(number)", of: "a\(number)")
                let newest = story.page.items.filter { $0.revision == story.revision }
                #expect(Set(newest.map(\.kind)) == ["accepted", "priority", "push"])
                #expect(story.page.items.filter { $0.kind == "priority" }.map(\.reason) == ["routine"])
            }
        }
    }

    /// Plans are made once and kept, so this is looked at where the planner has not seen that an activity has many.
    @Test("Of an activity's changes only the newest is read, however many there were")
    func newestAlone() async throws {
        try await withWorld { world in
            try await orders(1, in: world)
            for score in 1...10 {
                try await world.update("a1", score: Int64(score))
                try await world.pass(5)
            }
            try await world.settle()
            try await world.update("a1", score: 11)
            let rings = await (try group(in: world)).smallSegments().compactMap(\.update)
            try #require(rings.count == 1)
            let look = PlainUpdate.selectionOfRings(
                rings.map(\.lease.activityKey),
                of: world.orchestrator.deliveryStore.segments.daemon
            )
            let counted: Query = "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'changes'"
            let results = try await world.database.withTransaction { connection in
                try await connection.pipeline([.planningOnce, counted, look, counted])
            }
            #expect(results[2].count == 1)
            let (before, after) = (try results[1].single(Int64.self), try results[3].single(Int64.self))
            #expect((after ?? 0) - (before ?? 0) == 1)
        }
    }

    @Test("What it has sent is not told of as merged when a phone joins that shows an older state")
    func joinsLate() async throws {
        try await withWorld { world in
            try await orders(1, in: world)
            for score in 1...2 {
                try await world.update("a1", score: Int64(score))
                #expect(await (try group(in: world)).smallSegments().compactMap(\.update).count == 1)
                try await world.expireLeases()
                try await world.settle()
            }
            try await world.follow("d2", token: "bb02", in: "a1", known: 1)
            try await world.settle()
            #expect(world.recorder.pushes(to: "bb02").map(\.score) == [2])
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into IS NOT NULL") == 0)
            #expect(try await world.events(.changesMerged).isEmpty)
        }
    }

    @Test("What it has sent is not told of as merged by whoever has taken its lease meanwhile")
    func lostLease() async throws {
        try await withWorld { world in
            try await orders(1, in: world)
            try await world.update("a1", score: 1)
            let rings = await (try group(in: world)).smallSegments().compactMap(\.update)
            try await world.expireLeases()
            try await world.update("a1", score: 2)
            try await world.settle()
            #expect(try await world.number("SELECT merged_into FROM changes WHERE revision = 2") == 3)
            // Its answer comes only now.
            #expect(try await !world.orchestrator.deliveryStore.segments.complete(rings))
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into IS NOT NULL") == 0)
        }
    }

    @Test("What a change has jumped over is merged into it, also if the lease was lost before the answer came")
    func lostLeaseAfterAJump() async throws {
        try await withWorld { world in
            try await orders(1, in: world)
            for score in Int64(1)...2 { try await world.update("a1", score: score) }
            let rings = await (try group(in: world)).smallSegments().compactMap(\.update)
            try #require(rings.count == 1)
            try await world.database.execute("UPDATE segments SET lease_owner = gen_random_uuid()")
            #expect(try await !world.orchestrator.deliveryStore.segments.complete(rings))
            #expect(try await world.number("SELECT merged_into FROM changes WHERE revision = 2") == 3)
            #expect(
                try await world.events(.changesMerged).map(\.detail) == [["into": 3, "revisions": [2], "count": 1]]
            )
            try await world.expireLeases()
            try await world.pass(10)
            try await world.update("a1", score: 3)
            try await world.settle()
            // The phone may have it: nobody is told that it was merged.
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into IS NOT NULL") == 1)
        }
    }

    @Test("A change that reached one of two is not told of as merged when a phone joins that shows an older state")
    func reachedOne() async throws {
        try await withWorld { world in
            try await orders(1, in: world)
            try await world.follow("d2", token: "bb02", in: "a1", known: 1)
            try await world.settle()
            // The ring no longer rests when the second is accepted.
            for score in Int64(1)...2 { try await world.update("a1", score: score) }
            world.recorder.answer("bb02", with: .unregistered(at: nil))
            _ = await (try group(in: world)).run()
            try await world.pass(10)  // stamps are not far ahead of the clock then
            try await world.update("a1", score: 3)
            try await world.settle()
            try await world.follow("d3", token: "cc03", in: "a1", known: 1)
            try await world.settle()
            #expect(world.recorder.pushes(to: "cc03").map(\.score) == [3])
            #expect(
                try await world.events(.changesMerged).map(\.detail) == [["into": 3, "revisions": [2], "count": 1]]
            )
        }
    }

    @Test("A change that reached nobody is merged into the one that a phone is sent later")
    func reachedNobody() async throws {
        try await withWorld { world in
            try await orders(1, in: world)
            try await world.update("a1", score: 1)
            world.recorder.answer("aa01", with: .unregistered(at: nil))
            try await world.settle()
            try await world.update("a1", score: 2)
            try await world.follow("d2", token: "bb02", in: "a1", known: 1)
            try await world.settle()
            #expect(world.recorder.pushes(to: "bb02").map(\.score) == [2])
            #expect(try await world.number("SELECT merged_into FROM changes WHERE revision = 2") == 3)
        }
    }

    @Test("What several have come to is stored at once, whatever each has jumped over")
    func atOnce() async throws {
        try await withWorld { world in
            try await orders(3, in: world)
            for number in 1...3 { try await world.update("a\(number)", score: 1) }
            try await world.update("a2", score: 2)
            let rings = await (try group(in: world)).smallSegments().compactMap(\.update)
            #expect(rings.count == 3)
            #expect(try await !world.orchestrator.deliveryStore.segments.complete(rings))
            let completed = "SELECT string_agg(completed_revision::text, ' ' ORDER BY activity_key) FROM segments"
            #expect(try await world.word(Query(unescaped: completed)) == "2 3 2")
            #expect(try await world.number("SELECT count(DISTINCT xmin::text) FROM segments") == 1)
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into IS NOT NULL") == 1)
        }
    }

    @Test("Answers that come late, but together, are stored together")
    func lateAnswers() async throws {
        try await withWorld { world in
            let count = 9
            try await orders(count, in: world)
            for number in 1...count { try await world.update("a\(number)", score: 1) }
            let group = try await group(in: world)
            let gate = world.recorder.close()
            async let served = group.run()
            await gate.arrivals(count)
            // Long after the first answers were waited for in vain, the leases are prolonged.
            let until = "SELECT extract(epoch FROM min(lease_until))::float8 FROM segments"
            let first = try await world.database.query(Query(unescaped: until)).first(as: Double?.self) ?? nil
            defer { gate.open() }
            try await eventually("the leases are prolonged") {
                try await world.database.query(Query(unescaped: until)).first(as: Double?.self) != first
            }
            gate.open()
            #expect(await served.hadTooMuch == false)
            #expect(try await resting(world) == Int64(count))
            let transactions = try await world.number("SELECT count(DISTINCT xmin::text) FROM segments") ?? 0
            #expect(transactions < count)
        }
    }

    @Test("A change that comes while the answers are awaited is sent next, and a lost lease stores nothing")
    func meanwhile() async throws {
        try await withWorld { world in
            try await orders(2, in: world)
            for number in 1...2 { try await world.update("a\(number)", score: 1) }
            let rings = await (try group(in: world)).smallSegments().compactMap(\.update)
            #expect(rings.count == 2)
            try await world.update("a1", score: 2)
            try await world.expireLeases()
            try await world.database.execute(
                """
                UPDATE segments SET lease_owner = gen_random_uuid()
                WHERE activity_key = (SELECT activity_key FROM activities WHERE activity_id = 'a2')
                """
            )
            #expect(try await world.orchestrator.deliveryStore.segments.complete(rings))
            let completed = "SELECT string_agg(completed_revision::text, ' ' ORDER BY activity_key) FROM segments"
            #expect(try await world.word(Query(unescaped: completed)) == "2 1")
            #expect(try await resting(world) == 0)
            try await world.settle()
            #expect(
                world.recorder.take().map { "\($0.destination) \($0.score ?? 0)" }.sorted() == ["aa01 2", "aa02 1"]
            )
        }
    }

    @Test("A dead token dies and the others have the change; when nobody is reached the ring backs off")
    func exceptions() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...3 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            _ = world.recorder.take()
            world.recorder.answer("aa02", with: .unregistered(at: nil))
            try await world.update(score: 1)
            _ = await (try group(in: world)).run()
            #expect(world.recorder.take().count == 3)
            #expect(try await world.subscription("d2") == "dead")
            #expect(try await resting(world) == 1)
            #expect(try await world.number("SELECT completed_revision FROM segments") == 2)

            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 2)
            _ = await (try group(in: world)).run()
            #expect(world.recorder.take().count == 2)
            #expect(try await world.number("SELECT failures FROM segments") == 1)
            #expect(try await world.number("SELECT completed_revision FROM segments") == 2)
            world.recorder.answerAll(with: nil)
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["aa01", "aa03"])
        }
    }

    @Test(
        "When nobody is reached by many rings at once, a few at a time are settled, and each rests until its next try"
    )
    func manyExceptions() async throws {
        try await withWorld { world in
            let count = 9
            try await orders(count, in: world)
            for number in 1...count { try await world.update("a\(number)", score: 1) }
            world.recorder.answerAll(with: .unavailable)
            let group = try await group(in: world)
            let open = Mutex((now: 0, most: 0))
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .beforeCommit else { return }
                open.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                // For others to come to the same, if they may.
                try? await Task.sleep(for: .milliseconds(50))
                open.withLock { $0.now -= 1 }
            }
            // The leases are the daemon's that has claimed them; only it can look.
            let seen = await group.smallSegments().compactMap(\.update).map {
                LeasedSegment(lease: $0.lease, look: LeasedSegment.Look(small: .update($0), at: .now))
            }
            let before = try #require(
                try await world.database.query("SELECT clock_timestamp()").single(PGTimestamp.self)
            )
            let sibling = world.sibling(behind: gate).orchestrator
            _ = await SegmentGroup(room: sibling.delivery, slot: nil, segments: seen).run()
            #expect(world.recorder.take().count == count)
            #expect(open.withLock { (1...4).contains($0.most) })
            let resting: Query = "SELECT count(*) FROM segments WHERE lease_owner IS NULL AND due_at > \(before)"
            #expect(try await world.number(resting) == Int64(count))
            world.recorder.answerAll(with: nil)
            try await world.hurry()
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)).count == count)
        }
    }

    @Test("What is more than a routine change for a few is left to workers of their own, one at a time")
    func others() async throws {
        try await withWorld { world in
            try await orders(6, in: world)
            try await world.update("a1", score: 1, alert: "Goal")
            try await world.update("a2", score: 1, mustDeliver: true)
            try await world.update("a3", score: 1) { $0.urgency = .notable }
            try await world.end("a4", score: 1)
            try await world.follow("late", token: "bb05", in: "a5")
            // The newest alone is a routine change.
            try await world.update("a6", score: 1, alert: "Goal")
            try await world.update("a6", score: 2)
            let group = try await group(in: world)
            #expect(group.segments.count == 6)
            let rings = await group.smallSegments().compactMap(\.update)
            #expect(rings.isEmpty)
            #expect(await group.run().hadTooMuch)
            #expect(world.recorder.take().count == 1)
            #expect(try await world.orchestrator.deliveryStore.segments.claim(limit: 100).count == 5)
        }
    }
}
