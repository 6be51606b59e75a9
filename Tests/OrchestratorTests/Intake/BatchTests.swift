import APITypes
import ActivityModel
import JSON
import Postgres
import Testing

@testable import Orchestrator

@Suite("Batches", .timeLimit(.minutes(2)))
struct BatchTests {
    private static func update(_ id: String, _ score: Int64) -> BatchOperation {
        BatchOperation(.update(ActivityID(stored: id), UpdateRequest(contentState: World.state(score))))
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
    private func words(_ results: [Orchestrator.OperationResult]) -> [String] {
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
        words(await world.orchestrator.batch(world.app, operations.map { KeyedOperation($0, idempotency: nil) }))
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
            func keyed(_ operation: BatchOperation, _ key: String, _ hash: UInt8) -> KeyedOperation {
                KeyedOperation(
                    operation,
                    idempotency: IdempotencyKey(
                        apiKeyID: "k1",
                        method: "POST",
                        path: "/batch",
                        key: key,
                        bodyHash: [hash]
                    )
                )
            }
            let batch = [keyed(Self.update("final", 1), "a", 1), keyed(Self.update("final", 2), "b", 2)]
            #expect(words(await world.orchestrator.batch(world.app, batch)) == ["revision 2", "revision 3"])
            let again = batch + [keyed(Self.update("final", 3), "a", 3), keyed(Self.update("final", 4), "c", 4)]
            #expect(
                words(await world.orchestrator.batch(world.app, again)) == [
                    "revision 2", "revision 3", "idempotency_key_reused", "revision 4",
                ]
            )
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
