import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

@testable import DeliveryStore
@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("A start whose card the phone has reported", .timeLimit(.minutes(2)))
struct ReportedStartTests {
    private static func oneInTwoHundredSeconds(_ policy: inout Policy) {
        (policy.startBudget.count, policy.startBudget.windowSeconds) = (1, 200)
        policy.startRetrySeconds = 100
    }

    @Test("A start in doubt whose repeat has to wait for the budget is not repeated when the window is over")
    func withheldRepeat() async throws {
        try await withWorld(policy: Self.oneInTwoHundredSeconds) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .noAnswer)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.pass(101)
            try await world.settle()
            #expect(try await world.show().starts.reasons == ["start_budget": 1])
            try await world.follow("d1", token: "aa01")
            #expect(try await world.startState("d1") == "settled")
            try await world.pass(300)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
        }
    }

    @Test("An app that starts its card itself while the budget holds the start back gets no second one")
    func ownCard() async throws {
        try await withWorld(policy: Self.oneInTwoHundredSeconds) { world in
            try await world.register("d1", token: "5a01")
            try await world.start("first", to: World.devices("d1"))
            try await world.settle()
            try await world.start("second", to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.show("second").starts.withheld == 1)
            try await world.follow("d1", token: "aa01", in: "second", known: 1)
            try await world.pass(300)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.show("second").starts.withheld == 0)
        }
    }

    @Test("Tokens that are revived start nobody who has the card")
    func revived() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .badToken)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.startState("d1") == "failed")
            try await world.follow("d1", token: "aa01", known: 1)
            let scope = HaltScope(app: world.app, environment: .production)
            _ = try await world.database.pipeline(
                Revival(scope: scope, suspectFrom: PGTimestamp(microseconds: 0), limit: 10).statements
            )
            #expect(try await world.word("SELECT state::text FROM start_tokens") == "live")
            try await world.register("d1", token: "5b01")
            try await world.database.execute("UPDATE segments SET due_at = now()")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.startState("d1") == "settled")
        }
    }

    @Test("A report settles a start that rests, too", arguments: ["withheld", "failed", "cancelled", "unknown"])
    func resting(state: String) async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.database.execute(
                """
                INSERT INTO starts (activity_key, device_key, state, due_at, reason)
                SELECT activity_key, device_key, \(state)::start_state, clock_timestamp() + interval '60 s', 'start_budget'
                FROM activities, devices
                """
            )
            try await world.report("d1", .ended)
            #expect(try await world.startState("d1") == "settled")
            #expect(try await world.number("SELECT count(*) FROM starts WHERE due_at IS NOT NULL") == 0)
        }
    }

    @Test("A start that was made beside the report of the card does not leave")
    func madeBesideReport() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.follow("d1", token: "aa01", known: 1)
            // An enrolment that did not see the card yet, nor the report it.
            try await world.database.execute(
                """
                INSERT INTO starts (activity_key, device_key, state, due_at)
                SELECT activity_key, device_key, 'pending', clock_timestamp() FROM activities, devices
                """
            )
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.startState("d1") == "settled")
        }
    }

    @Test("No start is claimed for a device whose report is about to be committed", arguments: [false, true])
    func besideReport(isMany: Bool) async throws {
        try await withWorld { world in
            for device in ["d1", "d2"] { try await world.register(device) }
            try await world.start(to: World.devices("d1", "d2"))
            try await world.settle()
            let meanwhile = Gate()
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .beforeCommit { await meanwhile.pass() }
            }
            let other = world.sibling(behind: gate)
            let cards = try ["d1", "d2"].prefix(isMany ? 2 : 1).map { device in
                let token = try #require(PushToken(hex: device == "d1" ? "aa01" : "aa02"))
                return ReportedCard(
                    app: world.app,
                    activity: ActivityID(stored: "final"),
                    device: DeviceID(stored: device),
                    request: SubscriptionRequest(.updateToken(token), knownRevision: 1)
                )
            }
            // The apps have started the cards themselves, and now report a start token as well.
            try await other.withIntake {
                async let answers = other.orchestrator.intake.accept(cards)
                await meanwhile.arrivals(1)
                let starts = try await world.database.execute(
                    """
                    INSERT INTO start_tokens (device_key, type_name, token)
                    SELECT device_key, 'Game', decode('5a0' || right(device_id, 1), 'hex') FROM devices
                    """
                )
                #expect(starts == 2)
                try await world.enrol(try #require(await world.number("SELECT activity_key FROM activities")))
                #expect(try await world.number("SELECT count(*) FROM starts WHERE state = 'pending'") == 2)
                try await world.database.execute("UPDATE segments SET due_at = now()")
                try await world.settle()
                meanwhile.open()
                for answer in await answers { _ = try answer.get() }
            }
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == (isMany ? [] : ["5a02"]))
            #expect(try await world.startState("d1") == "settled")
        }
    }

    @Test("A device that the backend takes the card from is not started again by a repeat that waited")
    func unsubscribed() async throws {
        try await withWorld(policy: Self.oneInTwoHundredSeconds) { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            // The answer came when the claim had run out, so a repeat was tried.
            try await world.database.execute(
                "UPDATE starts SET state = 'withheld', due_at = clock_timestamp() + interval '100 s', reason = 'start_budget'"
            )
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "d1")
            )
            try await world.pass(300)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["start"])
        }
    }
}
