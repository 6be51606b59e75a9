import APITypes
import ActivityModel
import JSON
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
