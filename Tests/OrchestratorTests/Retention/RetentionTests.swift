import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import TestSupport
import Testing

@testable import Channels
@testable import Orchestrator
@testable import Store

@Suite("How long activities are kept", .timeLimit(.minutes(2)))
struct RetentionTests {
    private static let day: Int64 = 86_400

    /// The tables with rows of activities.
    private static let parts = [
        "activities", "changes", "audience_members", "starts", "subscriptions", "segments", "budget_ledger", "channels",
        "schedules", "activity_app_versions",
    ]

    private func delete(_ world: World) async throws -> Int {
        try await RetentionDuty(orchestrator: world.orchestrator).deleteDue()
    }

    private func rows(_ world: World) async throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for table in Self.parts {
            let count = try await world.number("SELECT count(*) FROM \(identifier: table)") ?? 0
            if count > 0 { counts[table] = count }
        }
        return counts
    }

    private func isThere(_ id: String, _ world: World) async throws -> Bool {
        do {
            _ = try await world.show(id)
            return true
        } catch let problem as Problem where problem.status == 404 {
            return false
        }
    }

    /// An activity with something in every table, ended, sent, and its channel deleted at Apple.
    private func playOut(_ id: String = "final", in world: World) async throws {
        try await world.register("d1", token: "5a01", os: "17.4")
        try await world.register("d2", token: "5a02")
        try await world.start(id, to: World.devices("d1", "d2"), delivery: .hybrid)
        try await world.settle()
        try await world.follow("d1", token: "aa01", in: id)
        var later = UpdateRequest(contentState: World.state(9))
        later.at = Instant(microseconds: 4_000_000_000_000_000)
        _ = try await world.orchestrator.intake.update(world.app, ActivityID(stored: id), later, origin: nil)
        for score in 1...3 { try await world.update(id, score: Int64(score)) }
        try await world.settle()
        try await world.end(id, score: 4)
        try await world.settle()
        _ = try await world.database.execute(
            """
            INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
            SELECT activity_key, 'user', 'u1', bundle_id FROM activities WHERE activity_id = \(id)
            """
        )
        try await letChannelGo(world)
    }

    private func letChannelGo(_ world: World) async throws {
        // The end is repeated when the starts have expired.
        try await world.pass(700)
        try await world.settle()
        try await world.hurry()
        try await world.settle()
        try await ChannelSweeper(room: world.orchestrator.channelRoom).deleteDue()
    }

    @Test("30 days after its end an activity is gone, with everything that belonged to it and nothing else")
    func deletion() async throws {
        try await withWorld { world in
            try await playOut(in: world)
            #expect(Set(try await rows(world).keys) == Set(Self.parts), "or the test proves little")
            try await world.start("running")
            try await world.settle()
            let other = ["activities": 2, "changes": 2, "segments": 2] as [String: Int64]
            try await world.pass(20 * Self.day)
            try await world.start("young")
            try await world.end("young")
            try await world.settle()
            try await world.pass(10 * Self.day - 3600)
            #expect(try await delete(world) == 0)
            try await world.pass(7200)
            #expect(try await delete(world) == 1)
            #expect(try await rows(world) == other.merging(["changes": 3]) { $1 })
            #expect(try await !isThere("final", world))
            for id in ["young", "running"] { #expect(try await isThere(id, world)) }
            #expect(try await world.number("SELECT count(*) FROM devices") == 2)
            #expect(try await delete(world) == 0)
        }
    }

    @Test("What is asked or reported of a deleted activity is answered as of one that never was")
    func unknownAfterwards() async throws {
        try await withWorld { world in
            try await playOut(in: world)
            let other = world.sibling()
            try await other.withIntake {
                // Both daemons know it still: for them it is deleted between two statements.
                await #expect(throws: Problem.activityEnded()) { try await world.update(score: 5) }
                await #expect(throws: Problem.activityEnded()) { try await other.update(score: 5) }
                try await world.pass(31 * Self.day)
                #expect(try await delete(world) == 1)
                for daemon in [world, other] {
                    let gone = Problem.notFound("the activity")
                    await #expect(throws: gone) { try await daemon.show() }
                    await #expect(throws: gone) { try await daemon.follow("d1", token: "aa02") }
                    await #expect(throws: gone) { try await daemon.report("d1", .ended) }
                    await #expect(throws: Problem.notFound("the subscription"), "nor has it a card") {
                        try await daemon.orchestrator.intake.unsubscribe(
                            daemon.app,
                            ActivityID(stored: "final"),
                            DeviceID(stored: "d1")
                        )
                    }
                    // Last: from the first of these on the daemon knows it no more.
                    await #expect(throws: gone) { try await daemon.update(score: 5) }
                    await #expect(throws: gone) { try await daemon.end() }
                }
                #expect(try await rows(world) == [:])
            }
        }
    }

    @Test(
        "Its id may be used again, for another activity with a story of its own, by daemons that knew the first one, too"
    )
    func idAgain() async throws {
        try await withWorld { world in
            try await playOut(in: world)
            let other = world.sibling()
            try await other.withIntake {
                try await world.pass(31 * Self.day)
                await #expect(throws: Problem.activityEnded()) { try await other.update(score: 5) }
                // A card of the first one, long forgotten, had a token; its death is an event.
                let death = EventRows.insertion(
                    of: .tokenDied,
                    from: "(SELECT activity_key, NULL::bigint AS device_key FROM activities)",
                    detail: #"'{"token": "update", "reason": "410 Unregistered"}'::json"#
                )
                _ = try await world.database.execute(Query(unescaped: death))
                #expect(try await delete(world) == 1)
                let (answer, isReplay) = try await world.start(score: 7)
                #expect(!isReplay && answer.revision == 1 && answer.state == .live)
                #expect(try await other.update(score: 8).revision == 2)
                #expect(try await other.follow("d1", token: "aa03", known: 2).activityState == .live)
                let story = try await world.orchestrator.timeline(
                    world.app,
                    ActivityID(stored: "final"),
                    device: nil,
                    PageRequest(limit: 100)
                )
                #expect(!story.page.items.contains { $0.kind == "token_died" })
            }
        }
    }

    @Test("It stays as long as anything of it is still to be done")
    func unfinished() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start("channel", delivery: .channel)
            for id in ["push", "halted"] {
                try await world.start(id)
                try await world.follow("d1", token: "aa0\(id.count)", in: id, known: 1)
            }
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            for id in ["channel", "push", "halted"] { try await world.end(id) }
            try await world.settle()
            world.recorder.answerAll(with: nil)
            try await world.pass(31 * Self.day)
            // No daemon has worked since: the ends were not sent, the channel is at Apple.
            #expect(try await delete(world) == 0)
            try await world.settle()
            #expect(try await delete(world) == 2)
            #expect(try await isThere("channel", world))
            try await letChannelGo(world)
            #expect(try await delete(world) == 0, "Apple's list may still show it")
            try await world.pass(Self.day + 60)
            #expect(try await delete(world) == 1)
        }
    }

    enum Obstacle: CaseIterable {
        case startInDoubt, schedule, lease, dueWork, channel
    }

    @Test("Starts in doubt, schedules and leases hold it", arguments: Obstacle.allCases)
    func holds(_ obstacle: Obstacle) async throws {
        try await withWorld { world in
            try await world.register("d1")
            try await world.start()
            try await world.end()
            try await world.settle()
            try await world.pass(31 * Self.day)
            switch obstacle {
            case .startInDoubt: try await world.tables.addStarts("unknown", dueIn: 3600)
            case .lease: try await world.tables.setWork(dueIn: nil, heldFor: 0)
            case .dueWork: try await world.tables.setWork(dueIn: Self.day)
            case .schedule:
                try await world.database.execute(
                    """
                    INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
                    SELECT activity_key, bundle_id, 'end', now(), '{}' FROM activities
                    """
                )
            case .channel:
                try await world.database.execute(
                    """
                    INSERT INTO channels (bundle_id, environment, storage, activity_key)
                    SELECT bundle_id, environment, 'none', activity_key FROM activities
                    """
                )
            }
            #expect(try await delete(world) == 0)
            #expect(try await world.show().state == .ended)
        }
    }

    @Test("It is never kept shorter than events or than starts count, and for ever if so wished")
    func bounds() async throws {
        var settings = OrchestratorSettings { $0.activityRetention = .seconds(Self.day) }
        try await withWorld(policy: { $0.startBudget.windowSeconds = 9 * 86_400 }, settings: settings) { world in
            try await world.start()
            try await world.end()
            try await world.settle()
            let forEver = world.sibling(settings: OrchestratorSettings { $0.activityRetention = nil })
            settings.eventRetention = .seconds(14 * Self.day)
            let withEvents = world.sibling(settings: settings)
            try await world.pass(8 * Self.day)
            #expect(try await delete(world) == 0, "7 days for events, 9 for starts")
            try await world.pass(2 * Self.day)
            #expect(try await delete(withEvents) == 0)
            try await world.pass(3000 * Self.day)
            #expect(try await delete(forEver) == 0)
            #expect(try await delete(world) == 1)
        }
    }

    @Test("Readers of events miss nothing of what is younger than events are kept")
    func events() async throws {
        try await withWorld { world in
            try await world.start("old")
            try await world.end("old")
            try await world.settle()
            try await world.pass(31 * Self.day)
            try await world.start("new")
            let before = try await world.events(.changeAccepted)
            #expect(before.map(\.activity?.rawValue) == ["old", "old", "new"])
            #expect(try await delete(world) == 1)
            #expect(try await world.events(.changeAccepted).map(\.cursor) == [before[2].cursor])
            try await world.update("new", score: 1)
            let page = try await world.events(.changeAccepted).filter { $0.cursor > before[1].cursor }
            #expect(page.map(\.activity?.rawValue) == ["new", "new"])
        }
    }
}
