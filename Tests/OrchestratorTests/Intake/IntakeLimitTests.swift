import APITypes
import ActivityModel
import JSON
import Postgres
import Testing

@testable import Orchestrator

@Suite("Limits of the intake", .timeLimit(.minutes(2)))
struct IntakeLimitTests {
    @Test(
        "The least urgent is refused first, an end last",
        arguments: [
            (IntakeLimit.Weight.routine, 100), (.notable, 125), (.pressing, 150), (.end, 200),
        ]
    )
    func order(weight: IntakeLimit.Weight, limit: Int) throws {
        let intake = IntakeLimit(waiting: 100, wait: .seconds(1))
        try intake.admit(weight, behind: Backlog(count: limit - 1, wait: nil))
        #expect(throws: Problem.self) { try intake.admit(weight, behind: Backlog(count: limit, wait: nil)) }
    }

    @Test(
        "What would wait for too long is refused in the same order, however few wait",
        arguments: [
            (IntakeLimit.Weight.routine, 1_000), (.notable, 1_250), (.pressing, 1_500), (.end, 2_000),
        ]
    )
    func time(weight: IntakeLimit.Weight, limit: Int) throws {
        let intake = IntakeLimit(waiting: 100, wait: .seconds(1))
        try intake.admit(weight, behind: Backlog(count: 10, wait: .milliseconds(limit)))
        #expect(throws: Problem.self) {
            try intake.admit(weight, behind: Backlog(count: 10, wait: .milliseconds(limit + 1)))
        }
    }

    @Test(
        "The least weight that is taken rises while the intake fills up",
        arguments: [
            (99, .routine), (100, .notable), (124, .notable), (125, .pressing), (150, .end), (199, .end), (200, nil),
        ] as [(Int, IntakeLimit.Weight?)]
    )
    func least(count: Int, weight: IntakeLimit.Weight?) {
        let intake = IntakeLimit(waiting: 100, wait: .seconds(1))
        #expect(intake.leastWeight(behind: Backlog(count: count, wait: nil)) == weight)
    }

    @Test(
        "What says itself how urgent it is is weighed by that; for the rest a policy has to be asked",
        arguments: [
            (UpdateRequest(contentState: World.state(1), urgency: .routine), .routine),
            (UpdateRequest(contentState: World.state(1), urgency: .notable), .notable),
            (UpdateRequest(contentState: World.state(1), urgency: .critical), .pressing),
            (UpdateRequest(contentState: World.state(1), urgency: .routine, mustDeliver: true), .pressing),
            (UpdateRequest(contentState: World.state(1), alert: World.alert("Goal"), urgency: .routine), .pressing),
            (UpdateRequest(contentState: World.state(1)), nil),
            (UpdateRequest(contentState: World.state(1), urgency: .routine, at: Instant(unixSeconds: 0)), nil),
        ] as [(UpdateRequest, IntakeLimit.Weight?)]
    )
    func weight(request: UpdateRequest, weight: IntakeLimit.Weight?) {
        #expect(IntakeLimit.Weight(.update(ActivityID(stored: "a"), request)) == weight)
    }

    @Test("While nothing is accepted, what is routine is refused before anything is looked up for it; an end waits")
    func refusedAtOnce() async throws {
        try await withWorld(settings: OrchestratorSettings(intakeLimit: 4)) { world in
            for number in 1...6 { try await world.start("a\(number)") }
            let (orchestrator, app) = (world.orchestrator, world.app)
            func change(_ id: String, _ request: UpdateRequest) -> KeyedOperation {
                KeyedOperation(BatchOperation(.update(ActivityID(stored: id), request)), idempotency: nil)
            }
            let routine = UpdateRequest(contentState: World.state(1), urgency: .routine)
            let waiting = try await world.database.withTransaction { connection in
                _ = try await connection.query("LOCK TABLE changes IN EXCLUSIVE MODE")
                // The first is under way and waits for the lock, four wait for it.
                let first = Task { await orchestrator.batch(app, [change("a1", routine)]) }
                try await world.someoneWaits(for: "relation")
                let next = Task { await orchestrator.batch(app, (2...5).map { change("a\($0)", routine) }) }
                try await backlog(of: 4, in: world)
                // Of an activity that does not exist it would be 404 if that were looked up.
                let refused = await orchestrator.batch(app, [change("nobody", routine)])
                #expect(words(refused) == ["too_many_requests"])
                let end = KeyedOperation(BatchOperation(.end(ActivityID(stored: "a6"), EndRequest())), idempotency: nil)
                let last = Task { await orchestrator.batch(app, [change("nobody", routine), end]) }
                try await backlog(of: 5, in: world)
                return [first, next, last]
            }
            var answers: [[String]] = []
            for task in waiting { answers.append(words(await task.value)) }
            #expect(answers == [["taken"], Array(repeating: "taken", count: 4), ["too_many_requests", "taken"]])
        }
    }

    /// Returns when so many changes wait; the test's time limit is the deadline.
    private func backlog(of count: Int, in world: World) async throws {
        while world.orchestrator.intake.changes.backlog.count < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// The codes of what was refused; "taken" for the rest.
    private func words(_ results: [Orchestrator.OperationResult]) -> [String] {
        results.map { result in
            switch result {
            case .success: "taken"
            case .failure(let problem as Problem): problem.code
            case .failure(let error): "\(error)"
            }
        }
    }

    @Test("What finds a full intake is refused with 429 and a time; ends and alerts of the same batch are taken")
    func shedding() async throws {
        let settings = OrchestratorSettings(intakeLimit: 8)
        try await withWorld(settings: settings) { world in
            for number in 1...20 { try await world.start("a\(number)") }
            let operations = (1...20).map { number -> BatchOperation in
                let id = ActivityID(stored: "a\(number)")
                return switch number {
                case 18: BatchOperation(.end(id, EndRequest()))
                case 19: BatchOperation(.update(id, UpdateRequest(contentState: World.state(1), urgency: .notable)))
                case 20:
                    BatchOperation(.update(id, UpdateRequest(contentState: World.state(1), alert: World.alert("Goal"))))
                default: BatchOperation(.update(id, UpdateRequest(contentState: World.state(1))))
                }
            }
            let results = await world.orchestrator.batch(
                world.app,
                operations.map { KeyedOperation($0, idempotency: nil) }
            )
            let refused = results.indices.filter { place in
                if case .failure(let problem as Problem) = results[place] {
                    #expect(problem.code == "too_many_requests")
                    #expect(problem.retryAfter == 1)
                    return true
                }
                return false
            }
            #expect(refused == Array(8...16))
            #expect(try await world.show("a18").state == .ended)
            #expect(try await world.show("a9").revision == 1)
            // There is no room to tell of it either.
            #expect(world.orchestrator.timeline.take().rows.allSatisfy { $0.reason != "too_many_requests" })
            try await world.update("a9", score: 1)
        }
    }
}
