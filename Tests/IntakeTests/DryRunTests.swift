import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Orchestrator

@Suite("Dry runs", .timeLimit(.minutes(2)))
struct DryRunTests {
    @Test("A start says what each kind of device would get, and who gets nothing; nothing is written")
    func start() async throws {
        try await withWorld { world in
            try await world.register("new", token: "a1", os: "18.1")
            try await world.register("old", token: "a2", os: "17.4")
            try await world.register("older", token: "a3", os: "17.0")
            try await world.register("off", token: "a4", enabled: false)
            try await world.register("mute")
            let before = try await world.rows()
            let answer = try await world.orchestrator.intake.dryRunStart(
                world.app,
                ActivityID(stored: "final"),
                world.startRequest(to: World.devices("new", "old", "older", "off", "mute", "unknown"))
            )
            #expect(answer.revision == 1)
            #expect(answer.audience == AudienceCounts(devices: 5, unknownUsers: 0, unknownDevices: 1))
            #expect(answer.withheld == ["needs_ios_17_2": 1, "activities_disabled": 1, "no_start_token": 1])
            #expect(answer.pushes.map(\.destinations) == [1, 1])
            #expect(answer.pushes.allSatisfy { $0.priority == .ten && $0.reason == "start" && $0.to == .startTokens })
            let inputs = answer.pushes.map { $0.body["aps"]?["input-push-token"]?.int64 }
            #expect(Set(inputs) == [nil, 1])
            let push = try #require(answer.pushes.first)
            #expect(push.path == "/3/device/{token}")
            #expect(push.headers["apns-topic"]?.string == "com.example.app.push-type.liveactivity")
            #expect(push.headers["apns-priority"]?.string == "10")
            #expect(push.headers["apns-expiration"]?.string == String(try #require(answer.timestamp) + 600))
            #expect(push.body["aps"]?["attributes"]?["home"]?.string == "Argentina")
            #expect(push.bytes == push.body.serialized().count)
            #expect(try await world.rows() == before)
            #expect(try await problem { _ = try await world.show() }?.status == 404)
            try await world.settle()
            #expect(world.recorder.pushes.isEmpty)
        }
    }

    @Test("While sending is halted, it says so, and else not")
    func halted() async throws {
        try await withWorld { world in
            let id = ActivityID(stored: "final")
            let request = UpdateRequest(contentState: World.state(1))
            try await world.start()
            try await world.settle()
            #expect(try await world.orchestrator.intake.dryRunUpdate(world.app, id, request).isHalted == false)
            try await world.tables.halt(world.app.rawValue)
            #expect(try await world.orchestrator.intake.dryRunUpdate(world.app, id, request).isHalted)
            #expect(try await world.orchestrator.intake.dryRunEnd(world.app, id, EndRequest()).isHalted)
        }
    }

    @Test(
        "Neither waits for whoever serves a ring nor needs a second connection",
        arguments: [Delivery.tokens, .channel]
    )
    func disturbsNobody(delivery: Delivery) async throws {
        try await withWorld { world in
            try await world.start(delivery: delivery)
            try await world.settle()
            let name = try #require(try await world.word("SELECT current_database()::text"))
            var configuration = Database.Configuration()
            configuration.maximumConnections = 1
            let narrow = try await Database(
                url: TestCluster.shared.url(database: name),
                configuration: configuration,
                logger: world.orchestrator.logger
            )
            let orchestrator = Orchestrator(
                database: narrow,
                sender: world.recorder,
                masterKeys: world.orchestrator.masterKeys,
                settings: world.orchestrator.settings,
                logger: world.orchestrator.logger
            )
            try await World(orchestrator: orchestrator, app: world.app).withIntake {
                let answer = try await world.database.withTransaction { connection in
                    _ = try await connection.query(EngineTables.workLock)
                    return try await orchestrator.intake.dryRunEnd(world.app, ActivityID(stored: "final"), EndRequest())
                }
                #expect(answer.revision == 2)
                #expect(answer.pushes.map(\.to) == [delivery == .tokens ? .updateTokens : .channel])
            }
            await narrow.shutDown()
        }
    }

    @Test("A device against which several things stand is counted under the reason that its start then gives")
    func reasons() async throws {
        // With an alert that stands in, starts are made for devices without a start token as well.
        try await withWorld(policy: { $0.fallbackAlert = true }) { world in
            try await world.register("off-and-mute", enabled: false, deviceToken: "e1")
            try await world.register("old-and-mute", os: "17.0", deviceToken: "e2")
            let answer = try await world.orchestrator.intake.dryRunStart(
                world.app,
                ActivityID(stored: "final"),
                world.startRequest(to: World.devices("off-and-mute", "old-and-mute"))
            )
            try await world.start(to: World.devices("off-and-mute", "old-and-mute"))
            try await world.settle()
            #expect(answer.withheld == ["activities_disabled": 1, "needs_ios_17_2": 1])
            #expect(try await world.show().starts.reasons == answer.withheld)
        }
    }

    @Test("What is then really sent is what the dry run said")
    func isTrue() async throws {
        try await withWorld { world in
            try await world.register("d", token: "a1", os: "18.1")
            let planned = try await world.orchestrator.intake.dryRunStart(
                world.app,
                ActivityID(stored: "final"),
                world.startRequest(to: World.devices("d"))
            )
            try await world.start(to: World.devices("d"))
            try await world.settle()
            try world.expectLast(planned)
            try await world.follow("d", token: "b1")
            let request = UpdateRequest(contentState: World.state(1), alert: World.alert("Goal"))
            let update = try await world.orchestrator.intake.dryRunUpdate(
                world.app,
                ActivityID(stored: "final"),
                request
            )
            #expect(update.revision == 2)
            #expect(update.pushes.map(\.budgetClass) == ["ordinary"])
            #expect(update.pushes.map(\.reason) == ["alert"])
            try await world.update(score: 1, alert: "Goal")
            try await world.settle()
            try world.expectLast(update)
            let end = try await world.orchestrator.intake.dryRunEnd(
                world.app,
                ActivityID(stored: "final"),
                EndRequest(dismissal: .after(seconds: 60))
            )
            #expect(end.pushes.first?.body["aps"]?["content-state"]?["score"]?.int64 == 1)
            #expect(end.pushes.first?.body["aps"]?["dismissal-date"]?.int64 == end.timestamp.map { $0 + 60 })
            #expect(try await world.show().state == .live)
        }
    }

    @Test("A notable change with an alert that the budget has no unit for is told to leave as that alert does")
    func alertOverBudget() async throws {
        try await withWorld(policy: {
            $0.budget.ordinary = 1
            $0.budget.reserve = 0
        }) { world in
            try await world.start()
            try await world.follow("d", token: "b1", known: 1)
            try await world.settle()
            var request = UpdateRequest(contentState: World.state(1), alert: World.alert("Goal"))
            request.urgency = .notable
            let update = try await world.orchestrator.intake.dryRunUpdate(
                world.app,
                ActivityID(stored: "final"),
                request
            )
            #expect(update.pushes.map(\.priority) == [.five])
            #expect(update.pushes.map(\.reason) == ["alert_over_budget"])
        }
    }

    @Test("Everybody is counted once, page by page: with all, by name, or by user", arguments: [1, 2, 2_000])
    func everybody(pageSize: Int) async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = pageSize }) { world in
            try await world.register("d1", token: "a1", user: "u1")
            try await world.register("d2", token: "a2", user: "u1")
            try await world.register("d3", token: "a3", os: "17.4")
            try await world.register("mute", user: "u2")
            try await world.register("unasked", user: "u3")
            var audience = World.devices("d1", "mute", "nobody")
            audience.users = ["u1", "u2", "u4"].map(UserID.init(stored:))
            func ask() async throws -> DryRunAnswer {
                try await world.orchestrator.intake.dryRunStart(
                    world.app,
                    ActivityID(stored: "final"),
                    world.startRequest(to: audience)
                )
            }
            let named = try await ask()
            #expect(named.audience == AudienceCounts(devices: 3, unknownUsers: 1, unknownDevices: 1))
            #expect(named.pushes.map(\.destinations) == [2])
            #expect(named.withheld == ["no_start_token": 1])
            audience.allOfType = true
            let all = try await ask()
            #expect(all.audience == AudienceCounts(devices: 4, unknownUsers: 1, unknownDevices: 1))
            #expect(all.pushes.map(\.destinations) == [2, 1])
            #expect(all.withheld == ["no_start_token": 1])
            // The start itself counts the same.
            #expect(try await world.start(to: audience).answer.audience == all.audience)
        }
    }

    @Test("Counts are by budget, and cards without a token are named apart", arguments: [1, 2_000])
    func counts(pageSize: Int) async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = pageSize }) { world in
            try await world.register("waiting", token: "a1")
            try await world.start(to: World.devices("waiting"))
            try await world.settle()
            try await world.register("one")
            try await world.register("two", frequent: true)
            try await world.follow("one", token: "b1")
            try await world.follow("two", token: "b2")
            let request = UpdateRequest(contentState: World.state(1), urgency: .notable)
            let answer = try await world.orchestrator.intake.dryRunUpdate(
                world.app,
                ActivityID(stored: "final"),
                request
            )
            #expect(answer.pushes.map(\.budgetClass) == ["ordinary", "frequent"])
            #expect(answer.pushes.map(\.destinations) == [1, 1])
            #expect(answer.withheld == ["waiting_for_token": 1])
            #expect(answer.pushes.allSatisfy { $0.explanation.contains("more than the reserve") })
        }
    }

    @Test("A channel is a push of its own, with the header fields of a broadcast")
    func channel() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            let id = try #require(try await world.show().channel?.apnsChannelID)
            let request = UpdateRequest(contentState: World.state(1))
            let answer = try await world.orchestrator.intake.dryRunUpdate(
                world.app,
                ActivityID(stored: "final"),
                request
            )
            let push = try #require(answer.pushes.first)
            #expect(answer.pushes.count == 1)
            #expect(push.to == .channel)
            #expect(push.path == "/4/broadcasts/apps/com.example.app")
            #expect(push.headers["apns-channel-id"]?.string == id.rawValue)
            #expect(push.headers["apns-topic"] == nil)
        }
    }

    @Test("An unchanged state that has no timestamp yet is answered without one")
    func unstamped() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.exhaustStamps()
            #expect(try await world.update(score: 7).timestamp == nil)
            let same = try await world.orchestrator.intake.dryRunUpdate(
                world.app,
                ActivityID(stored: "final"),
                UpdateRequest(contentState: World.state(7))
            )
            #expect(same.unchanged)
            #expect(same.timestamp == nil)
            #expect(same.json["timestamp"] == JSONValue.null)
        }
    }

    @Test("A dry run tells the time of what would be scheduled; a time in the past means now")
    func times() async throws {
        try await withWorld { world in
            try await world.start()
            let id = ActivityID(stored: "final")
            let (past, later) = (Instant(unixSeconds: 1), Instant(unixSeconds: 4_000_000_000))
            let cases: [(time: Instant, told: Instant?)] = [(past, nil), (later, later)]
            for (time, told) in cases {
                var request = UpdateRequest(contentState: World.state(1), at: time)
                request.eventTime = time
                let update = try await world.orchestrator.intake.dryRunUpdate(world.app, id, request)
                #expect(update.at == told)
                let end = try await world.orchestrator.intake.dryRunEnd(world.app, id, EndRequest(at: time))
                #expect(end.at == told)
            }
        }
    }

    @Test("What the real request would be refused for, the dry run is, too")
    func refusals() async throws {
        try await withWorld { world in
            let id = ActivityID(stored: "final")
            try await world.start(score: 3)
            let orchestrator = world.orchestrator
            let late = try await problem {
                _ = try await orchestrator.intake.dryRunUpdate(
                    world.app,
                    id,
                    UpdateRequest(contentState: JSONObject([("score", .string("3"))]))
                )
            }
            #expect(late?.code == "invalid_content_state")
            let same = try await orchestrator.intake.dryRunUpdate(
                world.app,
                id,
                UpdateRequest(contentState: World.state(3))
            )
            #expect(same.unchanged)
            #expect(same.pushes.isEmpty)
            try await world.end()
            let again = try await orchestrator.intake.dryRunEnd(world.app, id, EndRequest())
            #expect(again.unchanged && again.pushes.isEmpty)
            let ended = try await problem {
                _ = try await orchestrator.intake.dryRunEnd(world.app, id, EndRequest(contentState: World.state(9)))
            }
            #expect(ended?.code == "activity_ended")
            let unknown = try await problem {
                _ = try await orchestrator.intake.dryRunEnd(world.app, ActivityID(stored: "none"), EndRequest())
            }
            #expect(unknown?.status == 404)
        }
    }
}

extension World {
    fileprivate func startRequest(to audience: Audience) -> StartRequest {
        StartRequest(
            type: Self.game,
            attributes: JSONObject([("home", .string("Argentina"))]),
            contentState: Self.state(0),
            audience: audience,
            alert: Self.alert("Kick-off")
        )
    }

    /// How many rows the tables have that a change writes.
    fileprivate func rows() async throws -> [Int64] {
        let tables = [
            "activities", "changes", "audience_members", "segments", "starts", "schedules", "budget_ledger",
            "idempotency_keys", "events", "channels",
        ]
        let counts = tables.map { "(SELECT count(*) FROM \($0))" }.joined(separator: ", ")
        let rows = try await database.query(Query(unescaped: "SELECT ARRAY[\(counts)]"))
        return try rows.single([Int64].self) ?? []
    }

    /// Compares the newest push with the one that was planned; the clock may have gone on in between.
    fileprivate func expectLast(
        _ planned: DryRunAnswer,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let push = try #require(planned.pushes.first, sourceLocation: sourceLocation)
        let sent = try #require(recorder.pushes.last, sourceLocation: sourceLocation)
        #expect(Self.timeless(sent.body) == Self.timeless(push.body), sourceLocation: sourceLocation)
        #expect(sent.priority == push.priority, sourceLocation: sourceLocation)
    }

    private static func timeless(_ body: JSONValue) -> JSONValue {
        guard var aps = body["aps"]?.object else { return body }
        aps["timestamp"] = nil
        return .object(aps)
    }
}
