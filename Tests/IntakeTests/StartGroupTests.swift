import APITypes
import ActivityModel
import Cryptography
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Starts that are stored together", .timeLimit(.minutes(2)))
struct StartGroupTests {
    private static let later = Instant(microseconds: 4_000_000_000_000_000)

    /// The same request as ``World/start(_:to:delivery:score:alert:origin:_:)`` makes.
    private static func request(_ change: (inout StartRequest) -> Void = { _ in }) -> StartRequest {
        var request = StartRequest(
            type: World.game,
            attributes: JSONObject([("home", .string("Argentina"))]),
            contentState: World.state(0),
            alert: World.alert("Kick-off")
        )
        change(&request)
        return request
    }

    private func start(
        _ id: String,
        of app: BundleID,
        key: IdempotencyKey? = nil,
        _ change: (inout StartRequest) -> Void = { _ in }
    ) -> RequestedStart {
        RequestedStart(
            app: app,
            id: ActivityID(stored: id),
            request: Self.request(change),
            idempotencyKey: key,
            origin: nil
        )
    }

    private func key(_ text: String, body: UInt8 = 1) -> IdempotencyKey {
        IdempotencyKey(
            apiKeyID: "k1",
            app: BundleID(stored: "com.example.app"),
            method: "POST",
            path: "/batch",
            key: text,
            bodyHash: [body]
        )
    }

    /// Stores starts as one group.
    private func accept(
        _ starts: [RequestedStart],
        by orchestrator: Orchestrator,
        isPatient: Bool = true
    ) async throws -> [StartGroup.Answer] {
        var commands: [StartCommand] = []
        for start in starts { commands.append(await orchestrator.intake.command(start)) }
        return try await StartGroup.accept(
            commands,
            in: orchestrator.database,
            for: orchestrator.deliveryStore.segments,
            waking: orchestrator.deliveryStore.wakeUps,
            isPatient: isPatient
        )
    }

    private func words(_ answers: [StartGroup.Answer]) -> [String] {
        answers.map { answer in
            switch answer {
            case .success(let stored): stored.answer.status == StartGroup.replayStatus ? "replayed" : "started"
            case .failure(let problem as Problem): problem.code
            case .failure(let error): "\(error)"
            }
        }
    }

    private func activities(_ world: World) async throws -> [String] {
        let rows = try await world.database.query("SELECT activity_id FROM activities ORDER BY activity_id")
        return try rows.decoded(as: String.self)
    }

    // MARK: Sharing

    @Test("The starts of a batch share a few transactions")
    func batch() async throws {
        try await withWorld { world in
            let batch = (0..<300).map { number in
                let operation = BatchOperation(.start(ActivityID(stored: "a\(number)"), Self.request()))
                return KeyedOperation(operation, idempotency: nil)
            }
            let results = await world.orchestrator.intake.batch(world.app, batch, origin: nil)
            #expect(results.allSatisfy { if case .success(.start(_, replay: false)) = $0 { true } else { false } })
            #expect(try await activities(world).count == 300)
            let transactions = try await world.number("SELECT count(DISTINCT xmin::text) FROM activities") ?? 0
            #expect(transactions <= 10)
            #expect(try await world.update("a299", score: 1).revision == 2)
        }
    }

    @Test("Single starts that come while another one is stored share the next transaction")
    func atOnce() async throws {
        try await withWorld { world in
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("LOCK TABLE activities IN SHARE MODE")
                    group.addTask { try await world.start("first") }
                    try await world.someoneWaits()
                    for number in 1...9 { group.addTask { try await world.start("a\(number)") } }
                    try await eventually("the others wait") {
                        world.orchestrator.intake.groups.starts.backlog.count == 9
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await activities(world).count == 10)
            #expect(try await world.number("SELECT count(DISTINCT xmin::text) FROM activities") == 2)
        }
    }

    @Test("A start with a long list of members has a transaction of its own, also in a batch")
    func large() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            let members = (1...17).map { DeviceID(stored: "d\($0)") }
            for count in [16, 17] {
                let one = start("a", of: world.app) { $0.audience = Audience(devices: Array(members.prefix(count))) }
                #expect(one.isSmall == (count == 16))
            }
            let batch = [
                start("small", of: world.app) { $0.audience = World.devices("d1") },
                start("large", of: world.app) { $0.audience = Audience(devices: members) },
            ]
            let answers = try await world.orchestrator.intake.accept(batch).map { try $0.get().answer }
            #expect(answers.map(\.activityID.rawValue) == ["small", "large"])
            #expect(answers.map(\.audience.devices) == [1, 1])
            #expect(try await world.number("SELECT count(DISTINCT xmin::text) FROM activities") == 2)
        }
    }

    @Test("A start has the dispatcher look for work if there are phones to be started, and only then")
    func wakeUp() async throws {
        try await withWorld { world in
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            _ = wakeUps.takeLook()
            try await world.start("nobody")
            try await world.start("later", to: World.devices("d1")) { $0.startsAt = Self.later }
            #expect(!wakeUps.takeLook())
            try await world.start("somebody", to: World.devices("d1"))
            #expect(wakeUps.takeLook())
            // Nobody has room for its channel.
            try await world.start("channel", delivery: .channel)
            #expect(wakeUps.takeLook())
        }
    }

    // MARK: Each for itself

    @Test("Each start of a group is answered for itself: new ones, repeated ones and refused ones")
    func mixed() async throws {
        try await withWorld { world in
            try await world.start("old")
            try await world.start("older")
            let none = BundleID(stored: "com.example.none")
            let answers = try await accept(
                [
                    start("a", of: world.app),
                    start("b", of: world.app) { $0.contentState = JSONObject() },
                    start("old", of: world.app),
                    start("older", of: world.app) { $0.attributes["home"] = "France" },
                    start("c", of: world.app) { $0.endsAt = Instant(microseconds: 1) },
                    start("d", of: world.app) { $0.type = ActivityTypeName(stored: "Other") },
                    start("e", of: world.app) { $0.environment = .sandbox },
                    start("f", of: none),
                    start("g", of: world.app),
                ],
                by: world.orchestrator
            )
            #expect(
                words(answers) == [
                    "started", "invalid_content_state", "replayed", "attributes_conflict", "invalid_request",
                    "unknown_type", "invalid_request", "not_found", "started",
                ]
            )
            #expect(try await activities(world) == ["a", "g", "old", "older"])
            #expect(try await world.events(.changeAccepted).count == 4)
        }
    }

    @Test("A repeated start is a replay, also when its type refuses it now and the others of its group")
    func replayAfterTypeChange() async throws {
        try await withWorld { world in
            try await world.start("old")
            let strict = #"{"type":"object","properties":{"clock":{"type":"string"}},"required":["clock"]}"#
            _ = try await world.orchestrator.putType(
                world.app,
                World.game,
                TypeRequest(source: .schemas(attributes: try json(strict), contentState: try json(strict))),
                force: true
            )
            let group = [start("new", of: world.app), start("old", of: world.app)]
            #expect(words(try await accept(group, by: world.orchestrator)) == ["invalid_attributes", "replayed"])
        }
    }

    @Test("Of starts of one id in a group one is stored, and the others find what is stored")
    func sameID() async throws {
        try await withWorld { world in
            let answers = try await accept(
                [
                    start("a", of: world.app), start("a", of: world.app),
                    start("a", of: world.app) { $0.attributes["home"] = "France" }, start("b", of: world.app),
                ],
                by: world.orchestrator
            )
            #expect(words(answers) == ["started", "replayed", "attributes_conflict", "started"])
            #expect(try await activities(world) == ["a", "b"])
            #expect(try await world.number("SELECT count(*) FROM changes") == 2)
        }
    }

    @Test("Of starts of a group with one new key one is carried out, and the others get its answer")
    func sameKey() async throws {
        try await withWorld { world in
            let answers = try await accept(
                [
                    start("a", of: world.app, key: key("1")), start("a", of: world.app, key: key("1")),
                    start("b", of: world.app, key: key("1", body: 2)), start("c", of: world.app),
                ],
                by: world.orchestrator
            )
            #expect(words(answers) == ["started", "started", "idempotency_key_reused", "started"])
            #expect(try await activities(world) == ["a", "c"])
            #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == 1)
        }
    }

    @Test("Each activity of a group has the audience, the schedules and the channel of its own start")
    func parts() async throws {
        try await withWorld { world in
            for number in 1...2 { try await world.register("d\(number)", token: "5a0\(number)", user: "u\(number)") }
            let answers = try await accept(
                [
                    start("a", of: world.app) {
                        $0.attributes["home"] = "a"
                        $0.audience = World.devices("d1")
                    },
                    start("b", of: world.app) {
                        $0.attributes["home"] = "b"
                        $0.audience = Audience(users: [UserID(stored: "u2")])
                    },
                    start("c", of: world.app) { $0.startsAt = Self.later },
                    start("d", of: world.app) {
                        $0.endsAt = Self.later
                        $0.delivery = .channel
                    },
                    start("e", of: world.app) { $0.delivery = .channel },
                ],
                by: world.orchestrator
            )
            #expect(words(answers) == Array(repeating: "started", count: 5))
            let schedules = try await world.database.query(
                """
                SELECT concat_ws(' ', a.activity_id, s.kind) FROM schedules AS s JOIN activities AS a USING (activity_key)
                ORDER BY a.activity_id
                """
            ).decoded(as: String.self)
            #expect(schedules == ["c start", "d end"])
            #expect(try await world.show("c").state == .scheduled)
            #expect(try await world.show("c").timestamp == nil)
            try await world.settle()
            let starts = world.recorder.take().map { push in
                "\(push.destination) \(push.aps["attributes"]?.object?["home"]?.string ?? "")"
            }
            #expect(starts.sorted() == ["5a01 a", "5a02 b"])
            let served = "SELECT count(DISTINCT activity_key) FROM channels WHERE state = 'ready'"
            #expect(try await world.number(Query(unescaped: served)) == 2)
        }
    }

    // MARK: Crashes and deletions

    @Test("What a daemon has stored and not answered is answered as it was stored when it is asked again")
    func crash() async throws {
        try await withWorld { world in
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .afterCommit { throw PostgresError(.commitUnknown) }
            }
            let starts = [
                start("a", of: world.app, key: key("1")), start("b", of: world.app, key: key("2")),
                start("c", of: world.app),
            ]
            let dying = world.sibling(behind: gate)
            try await dying.withIntake {
                for answer in await dying.orchestrator.intake.accept(starts) {
                    #expect(throws: PostgresError.self) { try answer.get() }
                }
            }
            #expect(try await activities(world) == ["a", "b", "c"])
            for _ in 1...2 {
                let again = try await world.orchestrator.intake.accept(starts).map { try $0.get() }
                #expect(again.map(\.isReplay) == [false, false, true])
                #expect(again.map(\.answer.activityID.rawValue) == ["a", "b", "c"])
                #expect(again.map(\.answer.revision) == [1, 1, 1])
            }
            #expect(try await world.number("SELECT count(*) FROM changes") == 3)
        }
    }

    /// Registers another app with the same type.
    private func addOther(to world: World) async throws -> BundleID {
        let other = BundleID(stored: "com.example.other")
        _ = try await world.orchestrator.putApp(other, .production(key: P256PrivateKey.generate().pem()))
        let schema = try json(#"{"type":"object","properties":{"home":{},"score":{}}}"#)
        _ = try await world.orchestrator.putType(
            other,
            World.game,
            TypeRequest(source: .schemas(attributes: schema, contentState: schema)),
            force: false
        )
        return other
    }

    /// Begins the deletion of the world's app, and goes on with it when `body` has returned.
    private func deleting<R>(in world: World, _ body: () async throws -> R) async throws -> R {
        try await world.database.withTransaction { connection in
            let app = world.app.rawValue
            _ = try await connection.query("SELECT FROM apps WHERE bundle_id = \(app) FOR UPDATE")
            _ = try await connection.execute("DELETE FROM signing_keys WHERE bundle_id = \(app)")
            return try await body()
        }
    }

    @Test("A start that waits for the deletion of its app is refused, and the others of its group are not")
    func deletion() async throws {
        try await withWorld { world in
            let other = try await addOther(to: world)
            let accepting = try await deleting(in: world) {
                let group = [start("a", of: world.app), start("b", of: other)]
                let accepting = Task { try await accept(group, by: world.orchestrator) }
                try await world.someoneWaits()
                return accepting
            }
            #expect(words(try await accepting.value) == ["invalid_request", "started"])
            #expect(try await activities(world) == ["b"])
        }
    }

    @Test("Starts of an app that is being deleted keep no start of another app waiting, beside them or behind them")
    func besideDeletion() async throws {
        try await withWorld { world in
            let other = try await addOther(to: world)
            let waiting = try await deleting(in: world) {
                let group = [start("a", of: world.app), start("b", of: other)]
                #expect(words(try await accept(group, by: world.orchestrator, isPatient: false)).last == "started")
                let waiting = Task { await world.orchestrator.intake.accept([start("a", of: world.app)]) }
                try await world.someoneWaits()
                let behind = await world.orchestrator.intake.accept([start("c", of: other)])
                #expect(throws: Never.self) { try behind[0].get() }
                return waiting
            }
            let refused = await waiting.value
            #expect(throws: Problem.self) { try refused[0].get() }
            #expect(try await activities(world) == ["b", "c"])
        }
    }

    // MARK: Limits

    @Test("While starts are not accepted, as many wait as may, and the others are refused")
    func limit() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.intakeLimit = 2 }) { world in
            let backlog = { world.orchestrator.intake.groups.starts.backlog.count }
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("LOCK TABLE activities IN SHARE MODE")
                    group.addTask { try await world.start("first") }
                    try await world.someoneWaits()
                    // Half as many again as routine changes.
                    for number in 1...3 { group.addTask { try await world.start("a\(number)") } }
                    try await eventually("three wait") { backlog() == 3 }
                    let refusal = try await problem { try await world.start("late") }
                    #expect(refusal?.code == Problem.Code.tooManyRequests)
                }
                try await group.waitForAll()
            }
            #expect(try await activities(world) == ["a1", "a2", "a3", "first"])
            try await world.start("late")
        }
    }

    @Test("Starts with long lists of members have a limit of their own, and are refused before their audience is read")
    func ownLimit() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.intakeLimit = 2 }) { world in
            let groups = world.orchestrator.intake.groups
            let members = Audience(devices: (1...17).map { DeviceID(stored: "d\($0)") })
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("LOCK TABLE activities IN SHARE MODE")
                    group.addTask { try await world.start("first") }
                    try await world.someoneWaits(for: "relation")
                    for number in 1...3 { group.addTask { try await world.start("a\(number)") } }
                    try await eventually("three wait") { groups.starts.backlog.count == 3 }
                    let small = try await problem { try await world.start("late") }
                    #expect(small?.code == Problem.Code.tooManyRequests)
                    // Two are under way, and three wait.
                    for number in 1...2 { group.addTask { try await world.start("b\(number)", to: members) } }
                    try await world.someoneWaits(for: "relation", atLeast: 3)
                    for number in 3...5 { group.addTask { try await world.start("b\(number)", to: members) } }
                    try await eventually("three with long lists wait") { groups.largeStarts.backlog.count == 3 }
                    // Who reads an audience waits for this.
                    _ = try await connection.query("LOCK TABLE devices IN ACCESS EXCLUSIVE MODE")
                    let large = try await problem { try await world.start("late", to: members) }
                    #expect(large?.code == Problem.Code.tooManyRequests)
                }
                try await group.waitForAll()
            }
            #expect(try await activities(world) == ["a1", "a2", "a3", "b1", "b2", "b3", "b4", "b5", "first"])
        }
    }

    @Test("Of starts with long lists of members two are stored at a time; the connections are for others")
    func largeAtOnce() async throws {
        try await withWorld { world in
            let members = Audience(devices: (1...17).map { DeviceID(stored: "d\($0)") })
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("LOCK TABLE activities IN SHARE MODE")
                    for number in 1...6 { group.addTask { try await world.start("a\(number)", to: members) } }
                    // Each that is under way waits for the lock.
                    try await eventually("four wait for their turn") {
                        world.orchestrator.intake.groups.largeStarts.backlog.count == 4
                    }
                    try await world.someoneWaits(for: "relation", atLeast: 2)
                }
                try await group.waitForAll()
            }
            #expect(try await activities(world).count == 6)
        }
    }
}
