import APITypes
import ActivityModel
import JSON
import Logging
import OrchestratorTestSupport
import Postgres
import ServiceLifecycle
import TestSupport
import Testing

@testable import Delivery
@testable import Orchestrator
@testable import Store

@Suite("What the timeline takes down", .timeLimit(.minutes(3)))
struct TimelineWritingTests {
    /// One row as a person would read it.
    private func rows(_ world: World) async throws -> [String] {
        try await world.writeTimeline()
        return try await world.database.query(
            """
            SELECT concat_ws(' ', t.kind, d.device_id, t.event, t.revision, 'p' || t.priority, t.outcome, t.status,
                             t.reason, t.apns_id, extract(milliseconds FROM t.latency)::int || 'ms', t.counts::text)
            FROM timeline AS t LEFT JOIN devices AS d USING (device_key) ORDER BY t.at, t.entry_id
            """
        ).decoded(as: String.self)
    }

    @Test("Each push of a small activity has a row: what, to whom, and what APNs said")
    func pushes() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            world.recorder.answer("aa01", with: .unavailable, .unregistered(at: nil))
            try await world.update(score: 1)
            try await world.settle()
            try await world.hurry()
            try await world.settle()
            let told = try await rows(world)
            #expect(
                told == [
                    "push d1 start 1 p10 accepted 200 id-5a01 7ms",
                    "push d1 update 2 p5 retry 503 ServiceUnavailable id-aa01 7ms",
                    "push d1 update 2 p5 token_dead 410 Unregistered id-aa01 7ms",
                ]
            )
        }
    }

    @Test("A push to the channel has a row without a device")
    func broadcast() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel, alert: nil)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            try await world.writeTimeline()
            let rows = try await world.database.query(
                "SELECT event, revision, segment, outcome FROM timeline WHERE device_key IS NULL ORDER BY revision"
            ).decoded(as: (String, Int64, Int16, String).self).map { "\($0.0) \($0.1) \($0.2) \($0.3)" }
            #expect(rows.last == "update 2 -1 accepted")
        }
    }

    @Test("More than 1,000 destinations: a row per batch with its answers, and one per push that was not accepted")
    func batches() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.settle()
            try await world.crowd(RingWalk.partSize + 300)
            world.recorder.answer(World.crowdToken(700), with: .unregistered(at: nil))
            world.recorder.answer(World.crowdToken(2_859), with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            let told = try await rows(world).sorted()
            #expect(
                told == [
                    #"batch update 2 p5 {"200":2559,"410 Unregistered":1}"#,
                    #"batch update 2 p5 {"200":299,"400 BadDeviceToken":1}"#,
                    "push crowd2859 update 2 p5 token_rejected 400 BadDeviceToken",
                    "push crowd700 update 2 p5 token_dead 410 Unregistered",
                ]
            )
            let ranges = try await world.database.query(
                """
                SELECT f.device_id, l.device_id FROM timeline AS t
                JOIN devices AS f ON f.device_key = t.first_device JOIN devices AS l ON l.device_key = t.last_device
                ORDER BY t.first_device
                """
            ).decoded(as: (String, String).self).map { "\($0)–\($1)" }
            #expect(ranges == ["crowd1–crowd2560", "crowd2561–crowd2860"])
        }
    }

    @Test("Where APNs takes nothing, the row of the batch says it, not a row per phone")
    func outage() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.settle()
            try await world.crowd(RingWalk.partSize + 300)
            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 1)
            try await world.settle()
            let told = try await rows(world)
            // How much has left before the first answers came is a matter of chance.
            #expect((1...2).contains(told.count))
            #expect(told.allSatisfy { $0.hasPrefix(#"batch update 2 p5 {"503 ServiceUnavailable":"#) })
        }
    }

    @Test("A request that changed nothing is told of by its code alone")
    func refusals() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            await #expect(throws: Problem.self) {
                try await world.update(score: 1) { $0.contentState["score"] = "secret" }
            }
            try await world.end()
            await #expect(throws: Problem.self) { try await world.update(score: 2) }
            let told = try await rows(world)
            #expect(
                told == [
                    "refused update 422 invalid_content_state", "refused update 409 activity_ended",
                ]
            )
        }
    }

    @Test("Times are the database's, and those of what happened, however late it is written")
    func time() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            let before = try await world.word("SELECT clock_timestamp()::text")
            // As if the database had been away for an hour.
            world.orchestrator.store.timeline.giveBack(
                .init(rows: [TimelineRow(.push, activityKey: key, at: .now - .seconds(3_600))])
            )
            await #expect(throws: Problem.self) { try await world.update(score: 1) { $0.contentState = [:] } }
            try await world.writeTimeline()
            // Give or take what the question for the time may take.
            let ages = try await world.database.query(
                """
                SELECT kind, round(extract(epoch FROM \(before)::timestamptz - at) / 60)::int
                FROM timeline ORDER BY at
                """
            ).decoded(as: (String, Int32).self).map { "\($0.0) \($0.1)" }
            #expect(ages == ["push 60", "refused 0"])
        }
    }

    @Test("What finds the buffer full is lost, counted, and said")
    func overflow() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            let timeline = Timeline(database: world.database, capacity: 2)
            for _ in 0..<5 { timeline.record(Problem.notFound("it"), refusing: .update, of: key) }
            let writer = TimelineWriter(
                timeline: timeline,
                database: world.database,
                logger: world.orchestrator.logger
            )
            try await writer.write()
            timeline.record(Problem.notFound("it"), refusing: .end, of: key)
            try await writer.write()
            let told = try await rows(world)
            #expect(
                told == [
                    "refused update 404 not_found", "refused update 404 not_found", #"lost {"rows":3}"#,
                    "refused end 404 not_found",
                ]
            )
        }
    }

    @Test("What cannot be written for now waits; what the database refuses is counted as lost")
    func failures() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            let timeline = world.orchestrator.store.timeline
            await #expect(throws: Problem.self) { try await world.update(score: 1) { $0.contentState = [:] } }
            try await world.database.execute("ALTER TABLE timeline RENAME TO elsewhere")
            await #expect(throws: PostgresError.self) { try await world.writeTimeline() }
            try await world.database.execute("ALTER TABLE elsewhere RENAME TO timeline")
            let unwritten = timeline.take()
            #expect(unwritten.rows.isEmpty)
            #expect(Array(unwritten.lost.values) == [1])
            timeline.giveBack(unwritten)
            await #expect(throws: Problem.self) { try await world.update(score: 2) { $0.contentState = [:] } }
            let told = try await rows(world)
            #expect(
                told == ["refused update 422 invalid_content_state", #"lost {"rows":1}"#]
            )
        }
    }

    @Test("A shutdown writes what is left")
    func shutdown() async throws {
        let settings = OrchestratorSettings { $0.pollInterval = .milliseconds(20) }
        try await withWorld(settings: settings, isAlive: true) { world in
            try await withThrowingTaskGroup { tasks in
                let services = ServiceGroup(
                    services: world.orchestrator.services,
                    logger: world.orchestrator.logger
                )
                tasks.addTask { try await services.run() }
                try await world.start(alert: nil)
                try await world.crowd(3)
                let gate = world.recorder.close()
                try await world.update(score: 1)
                await gate.arrivals()
                await services.triggerGracefulShutdown()
                world.recorder.open()
                try await tasks.waitForAll()
            }
            #expect(try await world.number("SELECT count(*) FROM timeline WHERE kind = 'push'") == 3)
        }
    }

    // MARK: Erasure

    @Test("Who is deleted leaves no row behind, also none that was still to be written")
    func erasure() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", user: "u1")
            try await world.register("d2", token: "5a02", user: "u2")
            try await world.register("d3", token: "5a03", user: "u3")
            try await world.start(to: World.devices("d1", "d2", "d3"))
            try await world.settle()
            try await world.writeTimeline()
            #expect(try await world.number("SELECT count(*) FROM timeline") == 3)
            for (device, token) in [("d1", "aa01"), ("d2", "aa02"), ("d3", "aa03")] {
                try await world.follow(device, token: token)
            }
            try await world.update(score: 1)
            try await world.settle()
            try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: "d1"))
            try await world.orchestrator.eraseUser(world.app, UserID(stored: "u2"))
            try await world.writeTimeline()
            #expect(
                try await world.database.query(
                    "SELECT DISTINCT coalesce(d.device_id, 'nobody') FROM timeline LEFT JOIN devices AS d USING (device_key)"
                ).decoded(as: String.self) == ["d3"]
            )
        }
    }

    @Test("A daemon that writes while a device is deleted leaves no row of it")
    func erasureRace() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await withThrowingTaskGroup { tasks in
                try await world.database.withTransaction { writer in
                    // The place of another daemon that has seen the device and writes of it in a moment.
                    _ = try await writer.query(TimelineErasure.exclusion(isForWriter: true))
                    tasks.addTask { try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: "d1")) }
                    try await world.someoneWaits(for: "advisory")
                    _ = try await writer.execute(
                        """
                        INSERT INTO timeline (at, kind, activity_key, device_key)
                        SELECT now(), 'push', activity_key, device_key FROM activities, devices
                        """
                    )
                }
                try await tasks.waitForAll()
            }
            try await world.writeTimeline()
            #expect(try await world.number("SELECT count(*) FROM timeline") == 0)
        }
    }

    @Test("Who is deleted is named by no event any more, also by none that is being written")
    func eventErasure() async throws {
        try await withWorld { world in
            for number in 1...3 {
                try await world.register("d\(number)", user: "u\(number)")
                try await world.start("a\(number)")
                try await world.follow("d\(number)", token: "aa0\(number)", in: "a\(number)")
                world.recorder.answer("aa0\(number)", with: .unregistered(at: nil))
            }
            try await world.settle()
            let named: Query = "SELECT DISTINCT device_id FROM events WHERE device_id IS NOT NULL ORDER BY 1"
            #expect(try await world.database.query(named).decoded(as: String.self) == ["d1", "d2", "d3"])
            try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: "d1"))
            try await withThrowingTaskGroup { tasks in
                try await world.database.withTransaction { writer in
                    // The place of another daemon whose news of the device is not committed yet.
                    _ = try await writer.execute(
                        """
                        WITH died AS (\(unescaped: EngineTables.failure(of: "d2")))
                        \(unescaped: EventRows.tokenDeath(of: .update, from: "died"))
                        """
                    )
                    tasks.addTask { try await world.orchestrator.eraseUser(world.app, UserID(stored: "u2")) }
                    try await world.someoneWaits(for: "transactionid")
                }
                try await tasks.waitForAll()
            }
            #expect(try await world.database.query(named).decoded(as: String.self) == ["d3"])
        }
    }

    @Test("Rows lie in partitions by day, which the daemon makes")
    func partitions() async throws {
        try await withWorld { world in
            let table = PartitionedTable(name: "timeline", retention: .seconds(86_400))
            try await world.start(alert: nil)
            await #expect(throws: Problem.self) { try await world.update(score: 1) { $0.contentState = [:] } }
            try await world.writeTimeline()
            try await world.database.withTransaction { try await table.tend(on: $0) }
            let place = "SELECT tableoid::regclass::text FROM timeline"
            #expect(try await world.word(Query(unescaped: place))?.hasPrefix("timeline_2") == true)
        }
    }
}
