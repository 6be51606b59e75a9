import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Batches", .timeLimit(.minutes(2)))
struct BatchTests {
    private static func update(_ id: String, _ score: Int64, at time: Instant? = nil) -> BatchOperation {
        BatchOperation(.update(ActivityID(stored: id), UpdateRequest(contentState: World.state(score), at: time)))
    }

    private static func start(_ id: String) -> BatchOperation {
        BatchOperation(
            .start(
                ActivityID(stored: id),
                StartRequest(
                    type: World.game,
                    attributes: JSONObject([("home", .string("Argentina"))]),
                    contentState: World.state(0)
                )
            )
        )
    }

    private static func device(_ id: String) -> BatchOperation {
        BatchOperation(.device(DeviceID(stored: id), DeviceRequest(environment: .production)))
    }

    private static func report(
        _ id: String,
        _ device: String,
        _ report: SubscriptionRequest.Report,
        generation: Int64? = nil
    ) -> BatchOperation {
        BatchOperation(
            .subscription(
                ActivityID(stored: id),
                DeviceID(stored: device),
                SubscriptionRequest(report, generation: generation)
            )
        )
    }

    /// The status that each operation would have, and the problem's code.
    private func words(_ results: [Intake.OperationResult]) -> [String] {
        results.map { result in
            switch result {
            case .success(.start(_, let replay)): replay ? "replayed" : "started"
            case .success(.change(.accepted(_, let revision, _, let unchanged))):
                unchanged ? "unchanged \(revision)" : "revision \(revision)"
            case .success(.change(.scheduled)): "scheduled"
            case .success(.device): "device"
            case .success(.subscription(let answer)): "\(answer.state)"
            case .failure(let problem as Problem): problem.code
            case .failure(let error): "\(error)"
            }
        }
    }

    private func carryOut(_ world: World, _ operations: [BatchOperation]) async -> [String] {
        let keyed = operations.map { KeyedOperation($0, idempotency: nil) }
        return words(await world.orchestrator.intake.batch(world.app, keyed, origin: nil))
    }

    /// The operation with a key of its own, which names what it asks for.
    private func keyed(_ operation: BatchOperation, _ key: String) -> KeyedOperation {
        KeyedOperation(
            operation,
            idempotency: .init(
                IdempotencyKey(
                    apiKeyID: "k1",
                    app: BundleID(stored: "com.example.app"),
                    method: "POST",
                    path: "/batch",
                    key: key,
                    bodyHash: Array(operation.json.serialized().suffix(64))
                )
            )
        )
    }

    @Test("Operations of every kind are carried out in the order of what they concern")
    func everyKind() async throws {
        try await withWorld { world in
            let token = try #require(PushToken(hex: "aa01"))
            let results = await carryOut(
                world,
                [
                    Self.update("final", 1), Self.start("final"), Self.start("final"), Self.update("final", 1),
                    Self.report("final", "d1", .updateToken(token)), Self.device("d1"),
                    Self.report("final", "d1", .updateToken(token)), Self.update("final", 2),
                    BatchOperation(.end(ActivityID(stored: "final"), EndRequest())), Self.update("final", 3),
                ]
            )
            #expect(
                results == [
                    "not_found", "started", "replayed", "revision 2", "invalid_request", "device", "due", "revision 3",
                    "revision 4", "activity_ended",
                ]
            )
            #expect(try await world.show().contentState == World.state(2))
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").last?.event == "end")
        }
    }

    @Test("Changes whose time is in the past keep their order, also among those without a time")
    func pastTimes() async throws {
        try await withWorld { world in
            try await world.start("final")
            let results = await carryOut(
                world,
                [
                    Self.update("final", 1, at: Instant(unixSeconds: 2)), Self.update("final", 2),
                    Self.update("final", 3, at: Instant(unixSeconds: 1)),
                    Self.update("final", 4, at: Instant(unixSeconds: 4_000_000_000)),
                ]
            )
            #expect(results == ["revision 2", "revision 3", "revision 4", "scheduled"])
            #expect(try await world.show().contentState == World.state(3))
        }
    }

    @Test("An end does not wait for the schedules of its batch, unless they are of its activity: those come first")
    func schedulesBesideEnd() async throws {
        try await withWorld { world in
            for id in ["final", "slow"] { try await world.start(id) }
            let later = Instant(unixSeconds: 4_000_000_000)
            try await withThrowingTaskGroup(of: [String].self) { group in
                try await world.database.withTransaction { connection in
                    // Its schedule waits.
                    _ = try await connection.query("SELECT FROM activities WHERE activity_id = 'slow' FOR UPDATE")
                    group.addTask {
                        await carryOut(
                            world,
                            [
                                Self.update("slow", 1, at: later), Self.update("slow", 2, at: later),
                                Self.update("final", 1, at: later),
                                BatchOperation(.end(ActivityID(stored: "final"), EndRequest())),
                            ]
                        )
                    }
                    try await eventually("the end is accepted") { try await world.show().state == .ended }
                }
                let results = try await group.next()
                #expect(results == ["scheduled", "scheduled", "scheduled", "revision 2"])
            }
            // Those of one activity are kept in their order.
            let scores = try await world.database.query(
                "SELECT body->'content_state'->>'score' FROM schedules WHERE state = 'pending' ORDER BY created_at"
            ).decoded(as: String.self)
            #expect(scores == ["1", "2"])
        }
    }

    @Test("What is wrong with one operation leaves the others alone, those of the same activity, too")
    func alone() async throws {
        try await withWorld { world in
            try await world.start("a")
            try await world.start("b")
            let wrong = BatchOperation(.update(ActivityID(stored: "a"), UpdateRequest(contentState: JSONObject())))
            let results = await carryOut(
                world,
                [Self.update("a", 1), wrong, Self.update("none", 1), Self.update("b", 0), Self.update("a", 2)]
            )
            #expect(results == ["revision 2", "invalid_content_state", "not_found", "unchanged 1", "revision 3"])
        }
    }

    @Test("A full batch of one activity's changes keeps their order, and one of many activities is accepted in groups")
    func full() async throws {
        try await withWorld { world in
            try await world.start()
            let one = await carryOut(world, (1...1_000).map { Self.update("final", $0) })
            #expect(one == (2...1_001).map { "revision \($0)" })
            for number in 1...20 { try await world.start("a\(number)") }
            let before = try await world.number("SELECT count(DISTINCT xmin::text) FROM changes") ?? 0
            let many = await carryOut(world, (0..<1_000).map { Self.update("a\($0 % 20 + 1)", Int64($0) + 1) })
            #expect(many == (0..<1_000).map { "revision \($0 / 20 + 2)" })
            let groups = try await world.number("SELECT count(DISTINCT xmin::text) FROM changes") ?? 0
            #expect(groups - before <= 10)
        }
    }

    @Test("A batch that is sent again with its keys is answered as before, and a key of another operation is refused")
    func keys() async throws {
        try await withWorld { world in
            try await world.start()
            let batch = [keyed(Self.update("final", 1), "a"), keyed(Self.update("final", 2), "b")]
            let first = await world.orchestrator.intake.batch(world.app, batch, origin: nil)
            #expect(words(first) == ["revision 2", "revision 3"])
            let again = batch + [keyed(Self.update("final", 3), "a"), keyed(Self.update("final", 4), "c")]
            #expect(
                words(await world.orchestrator.intake.batch(world.app, again, origin: nil)) == [
                    "revision 2", "revision 3", "idempotency_key_reused", "revision 4",
                ]
            )
        }
    }

    @Test("Starts, devices and reports of cards have keys as well: what came later is not undone by a repeated batch")
    func keysOfEveryKind() async throws {
        try await withWorld { world in
            let tokens = try ["aa01", "bb02", "cc03"].map { try #require(PushToken(hex: $0)) }
            func device(_ version: String) -> BatchOperation {
                var request = DeviceRequest(environment: .production)
                request.appVersion = AppVersion(version)
                return BatchOperation(.device(DeviceID(stored: "d1"), request))
            }
            let batch = [
                keyed(Self.start("final"), "start"), keyed(device("1.0"), "device"),
                keyed(Self.report("final", "d1", .updateToken(tokens[0])), "report"),
                // Two of one group with the same new key: the second gets the first one's answer.
                keyed(Self.report("final", "d1", .updateToken(tokens[0])), "report"),
                keyed(Self.start("twice"), "twice"), keyed(Self.start("twice"), "again"),
            ]
            let first = await world.orchestrator.intake.batch(world.app, batch, origin: nil)
            #expect(words(first) == ["started", "device", "due", "due", "started", "replayed"])
            _ = await carryOut(world, [device("2.0"), Self.report("final", "d1", .updateToken(tokens[1]))])
            try await world.update(score: 5)
            try await world.end()

            let again = await world.orchestrator.intake.batch(world.app, batch, origin: nil)
            #expect(words(again) == ["started", "device", "due", "due", "started", "replayed"])
            // Of a device nothing is kept that could outlast it: it is shown as it is now.
            let now = try await world.orchestrator.device(world.app, DeviceID(stored: "d1"))
            #expect(now.appVersion == AppVersion("2.0"))
            for (place, (one, other)) in zip(first, again).enumerated() {
                #expect(try Self.text(other) == (place == 1 ? now.json.text : Self.text(one)))
            }
            #expect(try await world.tables.cards().map(\.token) == ["bb02"])

            let reused = await world.orchestrator.intake.batch(
                world.app,
                [
                    keyed(Self.start("other"), "device"), keyed(device("3.0"), "report"),
                    keyed(Self.report("final", "d1", .updateToken(tokens[2])), "start"),
                    keyed(Self.update("final", 1), "twice"),
                ],
                origin: nil
            )
            #expect(words(reused) == Array(repeating: "idempotency_key_reused", count: 4))
        }
    }

    /// The answer as the API would write it.
    private static func text(_ result: Intake.OperationResult) throws -> String {
        switch try result.get() {
        case .start(let answer, let replay): "\(replay) \(answer.json.text)"
        case .change(let answer): answer.json.text
        case .device(let device): device.json.text
        case .subscription(let answer): answer.json.text
        }
    }

    @Test("A device whose daemon died when it had stored the answer, and nothing else, is started when it asks again")
    func answeredAndNotEnrolled() async throws {
        try await withWorld { world in
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                guard moment == .inTransaction else { return }
                let kept = try? await world.number("SELECT count(*) FROM idempotency_keys")
                if kept != 0 { throw PostgresError(.connectionLost) }
            }
            let token = try #require(PushToken(hex: "5a01"))
            let request = DeviceRequest(
                environment: .production,
                osVersion: OSVersion("18.1"),
                startTokens: [World.game: StartTokenRequest(token: token)]
            )
            let batch = [keyed(BatchOperation(.device(DeviceID(stored: "d1"), request)), "device")]
            let dying = world.sibling(behind: gate)
            try await dying.withIntake { _ = await dying.orchestrator.intake.batch(world.app, batch, origin: nil) }
            try await world.settle()
            #expect(try await world.startState("d1") == nil)
            #expect(words(await world.orchestrator.intake.batch(world.app, batch, origin: nil)) == ["device"])
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
        }
    }

    @Test("Of several daemons that are sent the same keyed start, device or report at once, one carries it out")
    func keysAtOnce() async throws {
        try await withWorld { world in
            let other = world.sibling()
            let token = try #require(PushToken(hex: "aa01"))
            try await world.start("shared")
            try await other.withIntake {
                let batch = [
                    keyed(Self.start("final"), "start"), keyed(Self.device("d1"), "device"),
                    keyed(Self.report("shared", "d1", .updateToken(token)), "report"),
                ]
                let answers = try await withThrowingTaskGroup(of: [String].self) { group in
                    for number in 1...12 {
                        let daemon = number.isMultiple(of: 2) ? world : other
                        group.addTask {
                            try await daemon.orchestrator.intake.batch(daemon.app, batch, origin: nil)
                                .map { try Self.text($0) }
                        }
                    }
                    var answers: [[String]] = []
                    for try await answer in group { answers.append(answer) }
                    return answers
                }
                #expect(Set(answers).count == 1)
                #expect(try await world.number("SELECT count(*) FROM idempotency_keys") == 3)
            }
        }
    }

    @Test("Each report of a group is answered for itself, whatever becomes of the others")
    func mixedReports() async throws {
        try await withWorld { world in
            try await world.start("a")
            try await world.register("d1")
            try await world.register("d3")
            let token = try #require(PushToken(hex: "aa01"))
            let results = await carryOut(
                world,
                [
                    Self.report("a", "d1", .updateToken(token)), Self.report("a", "d2", .updateToken(token)),
                    Self.report("none", "d1", .updateToken(token)), Self.report("a", "d3", .ended),
                ]
            )
            #expect(results == ["due", "invalid_request", "not_found", "over"])
        }
    }

    @Test("Many phones that report in one batch are all caught up; an older report of one changes nothing")
    func reports() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 100...199 { try await world.register("d\(number)") }
            let tokens = try (100...199).map { try #require(PushToken(hex: "aa0\($0)")) }
            var operations = tokens.enumerated().map { number, token in
                Self.report("final", "d\(100 + number)", .updateToken(token), generation: 2)
            }
            operations.append(
                Self.report("final", "d100", .updateToken(try #require(PushToken(hex: "ff01"))), generation: 1)
            )
            #expect(await carryOut(world, operations) == Array(repeating: "due", count: 101))
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == Set(tokens.map(\.hex)))
        }
    }
}
