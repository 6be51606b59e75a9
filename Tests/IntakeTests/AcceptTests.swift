import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("Accepting changes", .timeLimit(.minutes(2)))
struct AcceptTests {
    private let final = ActivityID(stored: "final")

    @Test("Changes that come at once are accepted in a group, with consecutive revisions and rising stamps")
    func group() async throws {
        try await withWorld { world in
            try await world.start()
            let answers = try await withThrowingTaskGroup(of: Accepted.self) { group in
                for score in 1...50 { group.addTask { try await world.update(score: Int64(score)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.revision).sorted() == Array(2...51))
            let stamps = answers.sorted { $0.revision < $1.revision }.compactMap(\.timestamp)
            #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 })
            let rows = try await world.database.query("SELECT revision FROM changes ORDER BY revision")
            #expect(try rows.decoded(as: Int64.self) == Array(1...51))
        }
    }

    @Test("Groups of two daemons do not mix up the order")
    func twoDaemons() async throws {
        try await withWorld { world in
            let other = world.sibling()
            try await world.start("one")
            try await world.start("two")
            try await other.withIntake {
                try await withThrowingTaskGroup { group in
                    for score in 1...40 {
                        let daemon = score.isMultiple(of: 2) ? world : other
                        let game = score.isMultiple(of: 3) ? "one" : "two"
                        group.addTask { try await daemon.update(game, score: Int64(score)) }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await world.show("one").revision == 14)
            #expect(try await world.show("two").revision == 28)
            #expect(
                try await world.number(
                    """
                    SELECT count(*) FROM changes AS a JOIN changes AS b USING (activity_key)
                    WHERE a.revision < b.revision AND a.timestamp >= b.timestamp
                    """
                ) == 0
            )
        }
    }

    @Test(
        "Who has one activity locked keeps no change of another waiting, also of those that came together with its own"
    )
    func lockedActivity() async throws {
        try await withWorld { world in
            let games = (1...5).map { "game-\($0)" }
            try await world.start("large")
            for game in games { try await world.start(game) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM activities WHERE activity_id = 'large' FOR SHARE")
                    for score in 1...2 { group.addTask { try await world.update("large", score: Int64(score)) } }
                    try await world.someoneWaits()
                    for game in ["large"] + games { group.addTask { try await world.update(game, score: 3) } }
                    // Those of the large one come last, when this is over.
                    try await eventually("all others are accepted") {
                        try await world.number("SELECT count(*) FROM changes WHERE revision = 2") == Int64(games.count)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await world.show("large").revision == 4)
        }
    }

    @Test("An event that is older than the newest accepted one is refused, also against one that changed nothing")
    func lateEvent() async throws {
        try await withWorld { world in
            try await world.start()
            let (early, late) = (Instant(microseconds: 1_000_000), Instant(microseconds: 1_000_001))
            let first = try await world.update(score: 1) { $0.eventTime = early }
            let same = try await world.update(score: 1) { $0.eventTime = late }
            #expect(same.isUnchanged)
            #expect(same.revision == first.revision)
            #expect(same.timestamp == first.timestamp)
            let refused = try await problem { try await world.update(score: 2) { $0.eventTime = early } }
            #expect(refused?.code == "late_event")
            #expect(refused?.status == 409)
            #expect(refused?.detail.contains("1970-01-01T00:00:01.000001Z") == true)
            #expect(try await world.update(score: 2) { $0.eventTime = late }.revision == 3)
        }
    }

    @Test("An event of the far future is refused, so the updates after it are not late")
    func futureEvent() async throws {
        try await withWorld { world in
            try await world.start()
            let far = Instant(unixSeconds: 4_000_000_000)
            let refused = try await problem { try await world.update(score: 1) { $0.eventTime = far } }
            #expect(refused?.status == 422)
            #expect(refused?.code == "invalid_request")
            #expect(refused?.errors.map(\.pointer.description) == ["/event_time"])
            #expect(refused?.errors.map(\.code) == [FieldError.outOfRange])
            let now = try #require(try await world.number("SELECT extract(epoch FROM clock_timestamp())::int8"))
            let soon = Instant(unixSeconds: now + 240)
            #expect(try await world.update(score: 2) { $0.eventTime = soon }.revision == 2)
            let tooSoon = Instant(unixSeconds: now + 3_600)
            #expect(try await problem { try await world.update(score: 3) { $0.eventTime = tooSoon } }?.status == 422)
        }
    }

    @Test("A time in the past means now: such changes keep their place among those that come after them")
    func pastTime() async throws {
        try await withWorld { world in
            try await world.start()
            let past = Instant(unixSeconds: 1)
            #expect(try await world.update(score: 1) { $0.at = past }.revision == 2)
            #expect(try await world.update(score: 2).revision == 3)
            let end = try await world.orchestrator.intake.end(world.app, final, EndRequest(at: past), origin: nil)
            #expect(try Accepted(end.answer).revision == 4)
            #expect(try await problem { try await world.update(score: 3) }?.code == "activity_ended")
            #expect(try await world.number("SELECT count(*) FROM schedules") == 0)
            #expect(try await world.show().contentState == World.state(2))
        }
    }

    @Test("What is refused changes nothing, and does not disturb what came with it")
    func refusals() async throws {
        try await withWorld { world in
            try await world.start()
            let results = await withTaskGroup(of: Result<Accepted, any Error>.self) { group in
                for score in 1...6 {
                    group.addTask {
                        do {
                            return .success(
                                try await world.update(score: Int64(score)) { request in
                                    let isLate = score > 3
                                    request.eventTime = Instant(microseconds: isLate ? 1 : 1_000_000)
                                }
                            )
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let accepted = results.compactMap { try? $0.get().revision }
            #expect(accepted.count >= 3)
            #expect(accepted.sorted() == Array(2...Int64(accepted.count + 1)))
            #expect(try await world.show().revision == Int64(accepted.count + 1))
        }
    }

    @Test(
        "Content that the schema refuses is refused with a pointer",
        arguments: [
            (#"{}"#, ""), (#"{"score":"two"}"#, "/score"), (#"{"score":1.5}"#, "/score"),
        ]
    )
    func schema(content: String, pointer: String) async throws {
        try await withWorld { world in
            try await world.start()
            let state = try #require(try json(content).object)
            let refused = try await problem { try await world.update(score: 0) { $0.contentState = state } }
            #expect(refused?.status == 422)
            #expect(refused?.code == "invalid_content_state")
            #expect(refused?.errors.map(\.pointer.description) == [pointer])
            #expect(try await world.show().revision == 1)
        }
    }

    @Test("An unknown activity is 404 for every operation on it")
    func unknown() async throws {
        try await withWorld { world in
            try await world.start("other")
            #expect(try await problem { try await world.update(score: 1) }?.status == 404)
            #expect(try await problem { try await world.end() }?.status == 404)
            #expect(try await problem { _ = try await world.show() }?.status == 404)
            #expect(try await problem { try await world.follow("d1", token: "aa") }?.status == 404)
        }
    }

    @Test("A body is measured with an alert that the channel has told and the cards have not heard")
    func sizeBesideTheLast() async throws {
        try await withWorld { world in
            try await world.start(delivery: .hybrid, alert: nil)
            try await world.follow("d1", token: "aa", known: 1)
            try await world.settle()
            try await world.update(score: 1, alert: String(repeating: "y", count: 200))
            try await world.tables.hold(.tokens)
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel1").count == 1)
            let large: (inout UpdateRequest) -> Void = {
                $0.contentState["note"] = .string(String(repeating: "x", count: 3900))
            }
            let refused = try await problem { try await world.update(score: 2, large) }
            #expect(refused?.code == "payload_too_large")
            try await world.tables.release(.tokens)
            try await world.settle()
            #expect(try await world.update(score: 2, large).revision == 3)
        }
    }

    @Test("A body is measured with the alert of a change that is accepted together with it")
    func sizeBesideOthers() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa", known: 1)
            try await world.settle()
            let alert = World.alert(String(repeating: "y", count: 200))
            var state = World.state(2)
            state["note"] = .string(String(repeating: "x", count: 3900))
            let updates = [
                UpdateRequest(contentState: World.state(1), alert: alert), UpdateRequest(contentState: state),
            ]
            let answers = await world.orchestrator.intake.accept(
                updates.map {
                    RequestedChange(app: world.app, id: ActivityID(stored: "final"), body: .update($0), origin: nil)
                }
            )
            try #require(answers.count == 2)
            _ = try answers[0].get()
            let refused = try await problem { _ = try answers[1].get() }
            #expect(refused?.code == "payload_too_large")
        }
    }

    @Test("A body is measured with the alert of each must-deliver change that is open, whatever alert came since")
    func sizeBesideBarriers() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa", known: 1)
            try await world.settle()
            let alert = String(repeating: "y", count: 200)
            try await world.update(score: 1, alert: alert, mustDeliver: true)
            try await world.update(score: 2, alert: "z")
            let large: (inout UpdateRequest) -> Void = {
                $0.contentState["note"] = .string(String(repeating: "x", count: 3900))
            }
            let refused = try await problem { try await world.update(score: 3, large) }
            #expect(refused?.code == "payload_too_large")
            for _ in 1...2 {
                try await world.pass(5)
                try await world.settle()
            }
            #expect(try await world.update(score: 3, large).revision == 4)
        }
    }

    @Test("A body that would be too large with the alert that may ride on it is refused, with its size")
    func size() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            try await world.follow("d1", token: "aa")
            let note = JSONValue.string(String(repeating: "x", count: 3900))
            var state = World.state(1)
            state["note"] = note
            #expect(try await world.update(score: 1) { $0.contentState = state }.revision == 2)
            state["score"] = 2
            let refused = try await problem {
                try await world.update(score: 2, alert: String(repeating: "y", count: 200)) { $0.contentState = state }
            }
            #expect(refused?.code == "payload_too_large")
            #expect(refused?.extra["limit"]?.int64 == 4096)
            // An alert that nobody has heard yet may ride on the next state.
            try await world.update(score: 3, alert: String(repeating: "y", count: 200))
            let riding = try await problem { try await world.update(score: 2) { $0.contentState = state } }
            #expect(riding?.code == "payload_too_large")
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.update(score: 2) { $0.contentState = state }.revision == 4)
            state["note"] = .string(String(repeating: "x", count: 4090))
            let stored = try await problem { try await world.update(score: 2) { $0.contentState = state } }
            #expect(stored?.code == "payload_too_large")
            // What no push can hold is not even judged.
            state["score"] = .string(String(repeating: "x", count: 16_400))
            let far = try await problem { try await world.update(score: 2) { $0.contentState = state } }
            #expect(far?.code == "payload_too_large")
            let end = try await problem {
                let request = EndRequest(contentState: state)
                _ = try await world.orchestrator.intake.end(
                    world.app,
                    ActivityID(stored: "final"),
                    request,
                    origin: nil
                )
            }
            #expect(end?.code == "payload_too_large")
            let new = try await problem { try await world.start("new") { $0.contentState = state } }
            #expect(new?.code == "payload_too_large")
            state["note"] = nil
            state["score"] = .string(String(repeating: "x", count: 16_200))
            let judged = try await problem { try await world.update(score: 2) { $0.contentState = state } }
            #expect(judged?.code == "invalid_content_state")
        }
    }

    @Test("The largest state that is taken is sent also with a stale date that the policy asks for later")
    func laterPolicy() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            var length = 4_020
            while try await problem({
                try await world.update(score: 1) { request in
                    request.contentState["note"] = .string(String(repeating: "x", count: length))
                    request.relevanceScore = 100
                }
            }) != nil, length > 3_900 { length -= 1 }
            var policy = Policy()
            policy.staleAfterSeconds = 60
            _ = try await world.orchestrator.putType(
                world.app,
                World.game,
                TypeRequest(source: .schemas(attributes: [:], contentState: [:]), policy: policy),
                force: true
            )
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.aps["stale-date"] != nil)
            #expect(push.body.text.utf8.count == 4_096)
        }
    }

    @Test("A last state needs no room for what only starts and updates carry")
    func largeEnd() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            try await world.follow("d1", token: "aa01", known: 1)
            let note = JSONValue.string(String(repeating: "x", count: 3_900))
            let update = try await problem { try await world.update(score: 1) { $0.contentState["note"] = note } }
            #expect(update?.code == "payload_too_large")
            var state = World.state(1)
            state["note"] = note
            let request = EndRequest(contentState: state)
            _ = try await world.orchestrator.intake.end(world.app, ActivityID(stored: "final"), request, origin: nil)
            try await world.settle()
            #expect(world.recorder.take().map(\.aps["event"]) == ["end"])
        }
    }

    @Test("A stamp runs at most two seconds ahead; more changes are stamped when they are sent, the newest alone")
    func unstamped() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            for score in 1...6 { try await world.update(score: Int64(score)) }
            let ahead = try await world.number(
                "SELECT stamp - extract(epoch FROM clock_timestamp())::int8 FROM activities"
            )
            #expect((ahead ?? 0) <= 2)
            try await world.exhaustStamps()
            #expect(try await world.update(score: 7).timestamp == nil)
            #expect(try await world.update(score: 7).timestamp == nil, "the same state again, which has no stamp yet")
            try await world.settle()
            #expect(world.recorder.take().isEmpty, "its stamp would run ahead of the clock")
            try await world.pass(3)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [7])
            #expect(try await world.show().timestamp != nil)
            #expect(try await world.number("SELECT count(*) FROM changes WHERE merged_into = 8") == 6)
        }
    }

    @Test("The end is stamped and sent even if it runs ahead of the clock")
    func endInABurst() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.exhaustStamps()
            let end = try await world.end(score: 3)
            #expect(end.timestamp == nil)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("A rule of the policy speaks for a change that names no urgency")
    func rules() async throws {
        try await withWorld(policy: {
            $0.rules = [PolicyRule(changed: JSONPointer(tokens: ["score"]), urgency: .notable, mustDeliver: true)]
        }) { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.update(score: 2) { $0.urgency = .critical }
            try await world.update(score: 2) { $0.contentState["note"] = "corner" }
            let rows = try await world.database.query(
                "SELECT urgency::text, must_deliver FROM changes WHERE revision > 1 ORDER BY revision"
            )
            let found = try rows.decoded(as: (String, Bool).self)
            #expect(found.map(\.0) == ["notable", "critical", "routine"])
            #expect(found.map(\.1) == [true, false, false])
        }
    }
}
