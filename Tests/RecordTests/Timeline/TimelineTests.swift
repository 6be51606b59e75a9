import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Delivery
@testable import Orchestrator
@testable import Record
@testable import Store

@Suite("The timeline of an activity", .timeLimit(.minutes(3)))
struct TimelineTests {
    @Test(
        "During a halt, a resume is promised to those tokens alone that were rejected on the way to it",
        arguments: [(Int64(0), false), (3_600, true)]
    )
    func rejectedBeforeHalt(since seconds: Int64, isSuspect: Bool) async throws {
        try await withWorld { world in
            for (device, token) in [("d1", "5a01"), ("d2", "5a02")] { try await world.register(device, token: token) }
            world.recorder.answer("5a02", with: .badToken)
            try await world.start(to: World.devices("d1", "d2"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            world.recorder.answer("aa01", with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            try await world.tables.halt(world.app.rawValue, since: seconds)
            let card = try await world.explain("d1").verdict
            #expect(card.code == (isSuspect ? "halted" : "token_rejected"))
            let start = try await world.explain("d2").verdict
            #expect(start.code == "start_failed")
            #expect(start.text.contains("a resume tries it again") == isSuspect, "\(start.text)")
        }
    }

    @Test("A person asks why a card stands still whose token died")
    func deadToken() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            world.recorder.answer("aa01", with: .unregistered(at: nil))
            try await world.update(score: 2)
            try await world.settle()
            let story = try await world.explain("d1")
            #expect(story.verdict.code == "token_dead")
            #expect(story.verdict.text.contains("410 Unregistered"))
            let texts = story.page.items.reversed().map(\.text)
            // What happened within a moment, on two clocks, may stand in either order.
            #expect(
                Set(texts) == [
                    "Revision 1 was accepted: start, with an alert.",
                    "The start with revision 1 was accepted by APNs (priority 10, 7.0 ms).",
                    "The phone reported its card's update token.",
                    "Revision 2 was accepted: update, with an alert.",
                    "Revision 2 leaves at priority 10 for ordinary phones. An alert, 10 units are left.",
                    "The update with revision 2 was accepted by APNs (priority 10, 7.0 ms).",
                    "Revision 3 was accepted: update.",
                    "Revision 3 leaves at priority 5 for ordinary phones. A routine change goes out with priority 5.",
                    "The update with revision 3 was refused by APNs: the token is no longer active, 410 Unregistered (priority 5, 7.0 ms).",
                    "APNs says that the update token is no longer active (410 Unregistered).",
                ]
            )
            #expect(texts.first == "Revision 1 was accepted: start, with an alert.")
            #expect(texts.count == 10)
        }
    }

    @Test("The budget counts every change of the window at priority 10, however long the timeline is")
    func budget() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.tables.addDecisions()
            let answer = try await world.orchestrator.timeline(
                world.app,
                ActivityID(stored: "final"),
                device: nil,
                PageRequest(limit: 5)
            )
            #expect(answer.budget.map(\.budgetClass) == ["ordinary", "frequent"])
            #expect(answer.budget.map(\.spent) == [5, 4])
            #expect(answer.budget.map(\.units) == [10, 60])
            #expect(answer.budget.map(\.windowSeconds) == [3600, 3600])
        }
    }

    @Test("A merged revision says into which one, and the phone's verdict is about the newest")
    func merged() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1) { $0.urgency = .notable }
            try await world.update(score: 2)
            try await world.settle()
            let story = try await world.explain("d1")
            let accepted = story.page.items.filter { $0.kind == "accepted" }
            #expect(accepted.map(\.mergedInto) == [nil, 3, nil])
            #expect(
                accepted[1].text == "Revision 2 was accepted: update, notable. "
                    + "Before APNs accepted an update with it, it was merged into revision 3."
            )
            #expect(story.verdict.code == "sent_low_priority")
            #expect(story.verdict.text.hasPrefix("Revision 3 was accepted by APNs at priority 5"))
            #expect(story.revision == 3)
        }
    }

    @Test(
        "A change that is held back says so, unless an older one that waits for nothing takes it along",
        arguments: [Delivery.tokens, .channel]
    )
    func heldBack(delivery: Delivery) async throws {
        let rule = PolicyRule(changed: try #require(JSONPointer("/score")), minimumIntervalSeconds: 30)
        try await withWorld(policy: { $0.rules = [rule] }) { world in
            try await world.start(delivery: delivery, alert: nil)
            try await world.settle()
            if delivery == .tokens {
                try await world.follow("d1", token: "aa01", known: 1)
            } else {
                try await world.report("d1", .channel, known: 1)
            }
            try await world.settle()
            try await world.pass(31)
            try await world.update(score: 1)
            try await world.settle()
            try await world.pass(5)
            try await world.update(score: 2)
            try await world.settle()
            #expect(try await world.explain("d1").verdict.code == "held_back")
            try await world.pass(5)
            try await world.update(score: 3) { $0.urgency = .notable }
            try await world.update(score: 4)
            #expect(try await world.explain("d1").verdict.code == "pending")
        }
    }

    @Test("The priority of a change is told for as long as the change is there, also without its pushes")
    func priorityOfOldChange() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            for score in 1...2 {
                try await world.update(score: Int64(score))
                try await world.settle()
                try await world.pass(5)
            }
            try await world.writeTimeline()
            try await world.database.execute("DELETE FROM timeline")
            let entries = try await world.explain("d1").page.items
            #expect(entries.filter { $0.kind == "priority" }.map(\.revision) == [3, 2])
        }
    }

    @Test("An alert that is left out for want of room is told of")
    func droppedAlert() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa01", with: .tooMany)
            try await world.update(score: 1, alert: String(repeating: "!", count: 1_000))
            try await world.settle()
            _ = world.recorder.take()
            // Everybody else has heard the alert, so the next state may be larger than both together.
            try await world.update(score: 2) { $0.contentState["note"] = .string(String(repeating: "x", count: 3_500)) }
            try await world.pass(60)
            try await world.settle()
            let pushes = world.recorder.pushes(to: "aa01")
            #expect(pushes.map(\.score) == [2])
            #expect(pushes.map(\.alert) == [nil])
            let entry = try #require(
                try await world.explain("d1").page.items.first { $0.kind == Event.Kind.alertDropped.word }
            )
            #expect(entry.text.hasPrefix("Revision 3 went out without an older alert"))
            #expect(try await world.events(.alertDropped).count == 1)
        }
    }

    @Test("A withheld device is told of with its reason")
    func withheld() async throws {
        try await withWorld { world in
            try await world.register("old", token: "5a01", os: "16.4")
            try await world.start(to: World.devices("old"))
            try await world.settle()
            let story = try await world.explain("old")
            #expect(story.verdict.code == "withheld")
            #expect(story.verdict.text.contains("17.2"))
            try await world.register("silent", os: "18.1")
            try await world.start("other", to: World.devices("silent"))
            try await world.settle()
            let silent = try await world.explain("silent", of: "other")
            #expect(silent.verdict.code == "withheld")
            #expect(silent.verdict.text.contains("no start token"))
            let whole = try await world.explain()
            #expect(whole.verdict.code == "unreached")
            #expect(whole.verdict.text.contains("1 not started"))
        }
    }

    @Test("An unknown device is an answer, an unknown activity is not")
    func unknown() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            #expect(try await world.explain("nobody").verdict.code == "unknown_device")
            #expect(try await world.explain("nobody").page.items.map(\.kind) == ["accepted"])
            try await world.start("all", to: Audience(allOfType: true))
            #expect(try await world.explain("nobody", of: "all").verdict.code == "unknown_device")
            let problem = await #expect(throws: Problem.self) {
                try await world.orchestrator.timeline(
                    world.app,
                    ActivityID(stored: "other"),
                    device: nil,
                    PageRequest()
                )
            }
            #expect(problem?.status == 404)
            let refused = await #expect(throws: Problem.self) {
                try await world.orchestrator.timeline(
                    world.app,
                    ActivityID(stored: "final"),
                    device: nil,
                    PageRequest(cursor: "x")
                )
            }
            #expect(refused?.status == 422)
        }
    }

    @Test("A phone that got more pushes of priority 10 than its budget, from two matches, is told so")
    func overBudget() async throws {
        try await withWorld(policy: { $0.budget.ordinary = 5 }) { world in
            for match in ["one", "two"] {
                try await world.start(match, alert: nil)
                try await world.follow("d1", token: match == "one" ? "aa01" : "aa02", in: match)
            }
            try await world.settle()
            for match in ["one", "two"] {
                for score in 1...3 {
                    try await world.update(match, score: Int64(score), alert: "Goal \(score)")
                    try await world.settle()
                    // Else the next stamps would run ahead of the clock.
                    try await world.pass(5)
                }
            }
            #expect(try await world.explain("d1", of: "one").verdict.code == "sent")
            let verdict = try await world.explain("d1", of: "two").verdict
            #expect(verdict.code == "sent_over_budget")
            #expect(
                verdict.text.hasPrefix(
                    "Revision 4 was accepted by APNs at priority 10; this phone's budget was likely used up (8 of 5"
                )
            )
        }
    }

    @Test("A device of a big activity is told of the batches that it was in")
    func bigActivity() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.settle()
            try await world.crowd(RingWalk.partSize + 300)
            try await world.update(score: 1)
            try await world.settle()
            let story = try await world.explain("crowd2700")
            #expect(story.verdict.code == "sent_low_priority")
            let batches = story.page.items.filter { $0.kind == "batch" }
            #expect(batches.map(\.text) == ["The update with revision 2 went to 300 phones: 300 × 200 (priority 5)."])
            let whole = try await world.explain()
            #expect(whole.page.items.filter { $0.kind == "batch" }.count == 2)
            #expect(
                whole.verdict == Verdict("sent", "Revision 2 was accepted by APNs for all 2,860 destinations.")
            )
        }
    }

    @Test("A phone that joins after an update was sent has it by its start")
    func lateJoiner() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1", "d2"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            try await world.register("d2", token: "5a02")
            try await world.settle()
            try await world.follow("d2", token: "aa02")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01", "aa01", "5a02"])
            #expect(try await world.explain("d1").verdict.code == "sent_low_priority")
            let verdict = try await world.explain("d2").verdict
            #expect(verdict.code == "current")
            #expect(verdict.text == "The card has revision 2: its start carried it, or its app reported it.")
        }
    }

    @Test("A phone on a channel is told of the broadcasts, one with a token is not")
    func channel() async throws {
        try await withWorld(policy: { $0.channelStorage = .none }) { world in
            try await world.start(delivery: .hybrid, alert: nil)
            try await world.settle()
            try await world.report("listener", .channel)
            try await world.follow("other", token: "aa01")
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            let story = try await world.explain("listener")
            #expect(story.page.items.contains { $0.text.hasPrefix("The broadcast of the update with revision 2") })
            #expect(
                story.page.items.filter { $0.kind == "priority" && $0.revision == 2 }.map(\.budgetClass) == ["channel"]
            )
            #expect(story.verdict.text.contains("offline at that moment missed it"))
            let other = try await world.explain("other")
            #expect(!other.page.items.contains { $0.text.hasPrefix("The broadcast") })
            #expect(other.verdict.code == "sent_low_priority")
        }
    }

    @Test("A request that was refused is part of the story of every phone")
    func refused() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01")
            await #expect(throws: Problem.self) { try await world.update(score: 1) { $0.contentState = [:] } }
            let story = try await world.explain("d1")
            #expect(
                story.page.items.map(\.text).contains(
                    "An update was refused: 422 invalid_content_state. Nothing changed, and nothing was sent."
                )
            )
        }
    }

    @Test("What waits for its token is said, with the time since when")
    func waiting() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.explain("d1").verdict.code == "waiting_for_token")
            try await world.pass(4_000)
            #expect(try await world.watchCards() == 1)
            let story = try await world.explain("d1")
            #expect(story.verdict.code == "token_overdue")
            #expect(story.page.items.contains { $0.kind == "token_wait_overdue" })
        }
    }

    @Test("Pages follow each other without gaps or repeats, whatever the size")
    func pages() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01")
            for score in 1...4 {
                try await world.update(score: Int64(score))
                try await world.settle()
            }
            let whole = try await world.explain("d1").page.items
            #expect(whole.count >= 10)
            #expect(whole.map(\.at) == whole.map(\.at).sorted(by: >))
            for limit in [1, 3, 7] {
                var found: [TimelineEntry] = []
                var request = PageRequest(limit: limit)
                repeat {
                    let page = try await world.explain("d1", request).page
                    #expect(page.items.count == limit || page.nextCursor == nil)
                    found += page.items
                    request.cursor = page.nextCursor
                } while request.cursor != nil && found.count <= whole.count
                #expect(found == whole, "\(limit)")
            }
        }
    }

    @Test("A page of a long story reads as much of the timeline as it shows, and says what has left and what has not")
    func longStory() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa01", known: 1)
            // Nobody rode until revision 101; then each change went to fifty phones.
            _ = try await world.database.pipeline([
                """
                INSERT INTO changes (activity_key, revision, kind, content_state, urgency, accepted_at)
                SELECT activity_key, n, 'update', '{}', 'routine', now() - (600 - n) * interval '1 second'
                FROM activities, generate_series(2, 500) AS n
                """,
                """
                INSERT INTO timeline (at, kind, activity_key, device_key, event, revision, priority, outcome, status)
                SELECT c.accepted_at + phone * interval '1 millisecond', 'push', c.activity_key, phone, 'update',
                       c.revision, 5, 'accepted', 200
                FROM changes AS c CROSS JOIN generate_series(1, 50) AS phone WHERE c.revision > 100
                """,
                "UPDATE activities SET revision = 500",
                "ANALYZE timeline", "ANALYZE changes",
            ])
            for (newest, told) in [(500, 498...500), (120, 118...120), (110, 108...110), (101, 101...101)] {
                let at = try #require(
                    try await world.number(
                        """
                        SELECT (extract(epoch FROM accepted_at) * 1000000)::int8 + 10000 FROM changes WHERE revision = \(newest)
                        """
                    )
                )
                let request = PageRequest(limit: 30, cursor: PageCursor(values: [String(at), "0", "0"]).text)
                let (page, read) = try await page(request, of: world)
                let priorities = page.items.filter { $0.kind == "priority" }
                #expect(priorities.first?.revision == Int64(newest))
                let later = page.items.filter { $0.kind == "accepted" }.compactMap(\.revision).filter { $0 > 100 }
                #expect(priorities.compactMap(\.revision) == later)
                #expect(Set(told.map { Int64($0) }).isSuperset(of: later))
                #expect(read < 300, "\(newest)")
            }
        }
    }

    /// A page, and how many rows of the timeline and entries of its indexes were read for it.
    private func page(_ request: PageRequest, of world: World) async throws -> (Page<TimelineEntry>, read: Int64) {
        try await world.database.withTransaction { connection in
            let subject = try await TimelineSubject.read(world.app, ActivityID(stored: "final"), nil, on: connection)
            // They count since the connection last told the server's statistics of them, which may be long ago.
            let reads: Query = """
                WITH days AS (SELECT inhrelid AS id FROM pg_inherits WHERE inhparent = 'timeline'::regclass)
                SELECT (SELECT sum(pg_stat_get_xact_tuples_returned(id) + pg_stat_get_xact_tuples_fetched(id))
                        FROM days)::int8
                     + (SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))
                        FROM pg_index JOIN days ON id = indrelid)::int8
                """
            let before = try #require(try await connection.query(reads).single(Int64.self))
            let page = try await TimelineEntries(subject: subject, page: request).read(on: connection)
            let after = try #require(try await connection.query(reads).single(Int64.self))
            return (page, after - before)
        }
    }
}
