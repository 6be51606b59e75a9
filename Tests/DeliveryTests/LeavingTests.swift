import APITypes
import ActivityModel
import Intake
import OrchestratorTestSupport
import Testing

@testable import Orchestrator

@Suite("A card that the backend ends on one phone", .timeLimit(.minutes(2)))
struct LeavingTests {
    @Test("is ended also if its newest state was on its way to it at that moment")
    func whileServed() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.follow("phone", token: "aa01", known: 1)
            let gate = world.recorder.close(for: "aa01")
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await world.settle() }
                await gate.arrivals()
                try await world.orchestrator.intake.unsubscribe(
                    world.app,
                    ActivityID(stored: "final"),
                    DeviceID(stored: "phone")
                )
                gate.open()
                try await group.waitForAll()
            }
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["update", "end"])
            #expect(try await world.subscription("phone") == nil)
        }
    }
}
