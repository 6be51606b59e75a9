import APITypes
import ActivityModel
import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("What never changes of an activity", .timeLimit(.minutes(2)))
struct ActivityFactsTests {
    @Test("A daemon knows of an activity that it has started what is stored", arguments: [true, false])
    func afterStart(isAlerting: Bool) async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start("own", to: isAlerting ? World.devices("d1") : Audience())
            let name = ActivityFacts.Name(app: world.app, id: ActivityID(stored: "own"))
            let known = try #require(world.orchestrator.intake.facts.lookUp(name).value)
            let stored = try #require(try await ActivityFacts.read([name], from: world.database)[name])
            #expect(known.key == stored.key)
            #expect(known.typeName == stored.typeName)
            #expect(known.environment == stored.environment)
            #expect(known.delivery == stored.delivery)
            #expect(known.attributes == stored.attributes)
            #expect(known.startAlert == stored.startAlert)
            #expect(known.isPast == stored.isPast)
        }
    }

    @Test("An id that was used again after another daemon had deleted its activity is that of the new one")
    func usedAgain() async throws {
        try await withWorld { world in
            try await world.start("own", alert: nil)
            _ = try await world.database.execute("DELETE FROM activities")
            let other = world.sibling()
            try await other.withIntake { try await other.start("own", alert: nil) }
            #expect(try await world.update("own", score: 1).revision == 2)
        }
    }
}
