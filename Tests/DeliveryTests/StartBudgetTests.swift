import APITypes
import ActivityModel
import DeliveryStore
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Delivery
@testable import Orchestrator

@Suite("The start budget of a device", .timeLimit(.minutes(2)))
struct StartBudgetTests {
    private static func twoInAHundredSeconds(_ policy: inout Policy) {
        (policy.startBudget.count, policy.startBudget.windowSeconds) = (2, 100)
    }

    @Test("Over the budget of a device a start waits, with the reason, until the window allows it; others do not")
    func waits() async throws {
        try await withWorld(policy: Self.twoInAHundredSeconds) { world in
            for number in 1...2 { try await world.register("d\(number)", token: "5a0\(number)") }
            for id in ["a", "b", "c"] { try await world.start(id, to: World.devices("d1")) }
            try await world.start("d", to: World.devices("d1", "d2"))
            try await world.settle()
            #expect(world.recorder.pushes(to: "5a01").count == 2)
            #expect(world.recorder.pushes(to: "5a02").count == 1)
            var withheld = 0
            for id in ["a", "b", "c", "d"] { withheld += try await world.show(id).starts.withheld }
            #expect(withheld == 2)
            #expect(try await world.show("d").starts.reasons == ["start_budget": 1])
            try await world.pass(80)
            try await world.settle()
            #expect(world.recorder.take().count == 3)
            try await world.pass(21)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01", "5a01"])
        }
    }

    @Test("It is one budget for all activity types of the app")
    func acrossTypes() async throws {
        try await withWorld(policy: Self.twoInAHundredSeconds) { world in
            let order = ActivityTypeName(stored: "Order")
            let schema = try json(#"{"type":"object"}"#)
            _ = try await world.orchestrator.putType(
                world.app,
                order,
                TypeRequest(
                    source: .schemas(attributes: schema, contentState: schema),
                    policy: {
                        var policy = Policy(); Self.twoInAHundredSeconds(&policy); return policy
                    }()
                ),
                force: false
            )
            var request = DeviceRequest(environment: .production)
            request.startTokens = [
                World.game: StartTokenRequest(token: try #require(PushToken(hex: "5a01"))),
                order: StartTokenRequest(token: try #require(PushToken(hex: "5c01"))),
            ]
            _ = try await world.orchestrator.intake.putDevice(world.app, DeviceID(stored: "d1"), request)
            try await world.start("a", to: World.devices("d1"))
            try await world.start("b", to: World.devices("d1")) { $0.type = order }
            try await world.settle()
            try await world.start("c", to: World.devices("d1")) { $0.type = order }
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01", "5c01"])
        }
    }

    @Test("A start that the app made itself, or that certainly did not leave, costs nothing; a repeated one costs two")
    func whatCounts() async throws {
        try await withWorld(policy: {
            Self.twoInAHundredSeconds(&$0); $0.startRetrySeconds = 10
        }) { world in
            try await world.register("d1", token: "5a01")
            try await world.start("own")
            try await world.follow("d1", token: "aa01", in: "own", known: 1)
            world.recorder.answer("5a01", with: .notSent, .tooMany, .badKey, .noAnswer, .noAnswer)
            try await world.start("a", to: World.devices("d1"))
            for _ in 1...6 {
                try await world.settle()
                try await world.pass(10)
            }
            #expect(world.recorder.pushes(to: "5a01").count == 5)
            #expect(try await world.show("a").starts.repeated == 1)
            try await world.start("b", to: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.pushes(to: "5a01").count == 5)
            #expect(try await world.show("b").starts.withheld == 1)
        }
    }

    @Test(
        "Activities that start at the same moment, on several daemons, never spend more than the budget",
        arguments: 1...3
    )
    func race(round: Int) async throws {
        try await withWorld(policy: Self.twoInAHundredSeconds) { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)") }
            for number in 1...8 { try await world.start("a\(number)", to: World.devices("d1", "d2", "d3")) }
            try await withThrowingTaskGroup { group in
                for _ in 1...2 {
                    let daemon = world.sibling()
                    group.addTask {
                        // Each daemon works on several segments at once.
                        let leases = try await daemon.orchestrator.deliveryStore.segments.claim(limit: 4)
                        await withTaskGroup { workers in
                            for lease in leases {
                                workers.addTask {
                                    let orchestrator = daemon.orchestrator
                                    await SegmentWorker(room: orchestrator.delivery, slot: nil, lease: lease).run()
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Who found all devices in the hands of others waits for a moment.
            try await world.pass(1)
            try await world.settle()
            for number in 1...3 { #expect(world.recorder.pushes(to: "5a0\(number)").count == 2) }
        }
    }

    @Test("A start whose device is in the hands of another transaction leaves a moment later")
    func deviceIsLocked() async throws {
        try await withWorld(policy: Self.twoInAHundredSeconds) { world in
            try await world.register("d1", token: "5a01")
            try await world.start("a", to: World.devices("d1"))
            try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM devices FOR NO KEY UPDATE")
                try await world.settle()
            }
            #expect(world.recorder.take().isEmpty)
            try await world.pass(1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
        }
    }
}
