import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Store

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
        "What has waited too long to be read is refused if it is soon replaced, however few wait",
        arguments: [
            (250, .routine), (251, .notable), (500, .notable), (501, .pressing), (100_000, .pressing),
        ] as [(Int, IntakeLimit.Weight?)]
    )
    func unread(milliseconds: Int, weight: IntakeLimit.Weight?) {
        let intake = IntakeLimit(waiting: 100, wait: .seconds(1), unread: .milliseconds(milliseconds))
        #expect(intake.leastWeight(behind: Backlog(count: 0, wait: nil)) == weight)
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

    @Test(
        "Urgent is an end, and what says so itself, whatever a rule of the policy might turn out to speak for",
        arguments: [
            (.end(EndRequest()), true),
            (.update(UpdateRequest(contentState: World.state(1), urgency: .critical)), true),
            (.update(UpdateRequest(contentState: World.state(1), mustDeliver: true)), true),
            (.update(UpdateRequest(contentState: World.state(1), alert: World.alert("Goal"))), true),
            (.update(UpdateRequest(contentState: World.state(1), urgency: .notable)), false),
            (.update(UpdateRequest(contentState: World.state(1))), false),
        ] as [(RequestedChange.Body, Bool)]
    )
    func urgent(body: RequestedChange.Body, isUrgent: Bool) {
        let change = RequestedChange(app: BundleID(stored: "a"), id: ActivityID(stored: "a"), body: body, origin: nil)
        #expect(change.isUrgent == isUrgent)
    }

    @Test("While nothing is accepted, what is routine is refused before anything is looked up for it; an end waits")
    func refusedAtOnce() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.intakeLimit = 4 }) { world in
            for number in 1...6 { try await world.start("a\(number)") }
            let (orchestrator, app) = (world.orchestrator, world.app)
            func change(_ id: String, _ request: UpdateRequest) -> KeyedOperation {
                KeyedOperation(BatchOperation(.update(ActivityID(stored: id), request)), idempotency: nil)
            }
            let routine = UpdateRequest(contentState: World.state(1), urgency: .routine)
            let waiting = try await world.database.withTransaction { connection in
                _ = try await connection.query("LOCK TABLE changes IN EXCLUSIVE MODE")
                // The first is under way and waits for the lock, four wait for it.
                let first = Task { await orchestrator.intake.batch(app, [change("a1", routine)], origin: nil) }
                try await world.someoneWaits(for: "relation")
                let others = (2...5).map { change("a\($0)", routine) }
                let next = Task { await orchestrator.intake.batch(app, others, origin: nil) }
                try await backlog(of: 4, in: world)
                // Of an activity that does not exist it would be 404 if that were looked up.
                let refused = await orchestrator.intake.batch(app, [change("nobody", routine)], origin: nil)
                #expect(words(refused) == ["too_many_requests"])
                let end = KeyedOperation(BatchOperation(.end(ActivityID(stored: "a6"), EndRequest())), idempotency: nil)
                let last = Task { await orchestrator.intake.batch(app, [change("nobody", routine), end], origin: nil) }
                try await backlog(of: 5, in: world)
                return [first, next, last]
            }
            var answers: [[String]] = []
            for task in waiting { answers.append(words(await task.value)) }
            #expect(answers == [["taken"], Array(repeating: "taken", count: 4), ["too_many_requests", "taken"]])
        }
    }

    @Test("Of a batch that waited too long to be read what is routine is refused unseen, ends and alerts are taken")
    func readLate() async throws {
        try await withWorld { world in
            for id in ["a1", "a2"] { try await world.start(id) }
            func update(_ id: String, _ alert: AlertContent? = nil) -> KeyedOperation {
                let request = UpdateRequest(contentState: World.state(1), alert: alert, urgency: .routine)
                return KeyedOperation(BatchOperation(.update(ActivityID(stored: id), request)), idempotency: nil)
            }
            let end = KeyedOperation(BatchOperation(.end(ActivityID(stored: "a2"), EndRequest())), idempotency: nil)
            // What does not say how urgent it is has to be looked up, and is routine by its policy.
            let unsaid = UpdateRequest(contentState: World.state(1))
            let byPolicy = KeyedOperation(BatchOperation(.update(ActivityID(stored: "a1"), unsaid)), idempotency: nil)
            let batch = [update("nobody"), byPolicy, update("a1", World.alert("Goal")), end]
            let late = await world.orchestrator.intake.batch(world.app, batch, waited: .milliseconds(300), origin: nil)
            #expect(words(late) == ["too_many_requests", "too_many_requests", "taken", "taken"])
            let soon = await world.orchestrator.intake.batch(
                world.app,
                [update("nobody")],
                waited: .milliseconds(200),
                origin: nil
            )
            #expect(words(soon) == ["not_found"])
        }
    }

    @Test("An end goes before the routine changes that wait")
    func endFirst() async throws {
        try await withWorld { world in
            for number in 1...36 { try await world.start("a\(number)") }
            let (orchestrator, app) = (world.orchestrator, world.app)
            func post(_ ids: [Int]) -> Task<Void, Never> {
                let batch = ids.enumerated().map { place, id in
                    let routine = UpdateRequest(contentState: World.state(Int64(place) + 1), urgency: .routine)
                    let work = BatchOperation.Work.update(ActivityID(stored: "a\(id)"), routine)
                    return KeyedOperation(BatchOperation(work), idempotency: nil)
                }
                return Task { _ = await orchestrator.intake.batch(app, batch, origin: nil) }
            }
            let waiting = try await world.database.withTransaction { connection in
                _ = try await connection.query("LOCK TABLE changes IN EXCLUSIVE MODE")
                // All groups that may be under way wait for the lock. Each has as many changes as those before it, at least 16.
                var waiting: [Task<Void, Never>] = []
                for (lane, ids) in [Array(1...1), Array(2...17), Array(18...34)].enumerated() {
                    waiting.append(post(ids))
                    try await world.someoneWaits(for: "relation", atLeast: Int64(lane) + 1)
                }
                waiting.append(post(Array(repeating: 35, count: 500)))
                try await backlog(of: 500, in: world)
                waiting.append(
                    Task {
                        _ = try? await orchestrator.intake.end(
                            app,
                            ActivityID(stored: "a36"),
                            EndRequest(),
                            origin: nil
                        )
                    }
                )
                try await backlog(of: 501, in: world)
                return waiting
            }
            for task in waiting { await task.value }
            // The number of a transaction tells when it first wrote.
            let isFirst = try await world.database.query(
                """
                SELECT (SELECT xmin::text::bigint FROM changes WHERE kind = 'end')
                    < (SELECT max(xmin::text::bigint) FROM changes)
                """
            ).decoded(as: Bool.self)
            #expect(isFirst == [true])
        }
    }

    /// Returns when so many changes wait; the test's time limit is the deadline.
    private func backlog(of count: Int, in world: World) async throws {
        while world.orchestrator.intake.groups.changes.backlog.count < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// The codes of what was refused; "taken" for the rest.
    private func words(_ results: [Intake.OperationResult]) -> [String] {
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
        let settings = OrchestratorSettings { $0.intakeLimit = 8 }
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
            let results = await world.orchestrator.intake.batch(
                world.app,
                operations.map { KeyedOperation($0, idempotency: nil) },
                origin: nil
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
            #expect(world.orchestrator.store.timeline.take().rows.allSatisfy { $0.reason != "too_many_requests" })
            try await world.update("a9", score: 1)
        }
    }
}
