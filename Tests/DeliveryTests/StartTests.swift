import APITypes
import APNSTransport
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import Testing

@testable import Orchestrator

@Suite("Starting cards by push", .timeLimit(.minutes(2)))
struct StartTests {
    /// How a device is started, by what it says of itself and how the activity is delivered.
    struct Case: Sendable, CustomTestStringConvertible {
        var os: String? = "18.1"
        var enabled = true
        let delivery: Delivery
        /// The key that a start carries beside the content; nil: none.
        var key: String?
        /// Why there is no start.
        var withheld: String?

        var testDescription: String { "\(os ?? "unknown"), \(enabled ? "on" : "off"), \(delivery)" }
    }

    static let cases = [
        Case(delivery: .tokens, key: "input-push-token"),
        Case(delivery: .channel, key: "input-push-channel"),
        Case(os: nil, delivery: .hybrid),
        Case(os: "17.5", delivery: .channel, withheld: "needs_ios_18"),
        Case(enabled: false, delivery: .tokens, withheld: "activities_disabled"),
    ]

    @Test("A device is started as its iOS version and the delivery allow, or not at all", arguments: cases)
    func capability(example: Case) async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", os: example.os, enabled: example.enabled)
            try await world.start(to: World.devices("d1"), delivery: example.delivery)
            try await world.settle()
            let pushes = world.recorder.take()
            if let reason = example.withheld {
                #expect(pushes.isEmpty)
                #expect(try await world.startState("d1") == "withheld")
                #expect(try await world.word("SELECT reason FROM starts") == reason)
                #expect(try await world.show().starts.withheld == 1)
                return
            }
            let push = try #require(pushes.first)
            #expect(pushes.count == 1)
            #expect(push.destination == "5a01")
            #expect(push.event == "start")
            #expect(push.alert == "Kick-off")
            #expect(push.priority == .ten)
            #expect(push.aps["attributes-type"]?.string == "Game")
            #expect(push.aps["attributes"]?.object?["home"]?.string == "Argentina")
            #expect(push.aps.keys.filter { $0.hasPrefix("input-push") } == [example.key].compactMap { $0 })
            #expect(try await world.startState("d1") == "sent")
            let isOnChannel = example.key == "input-push-channel"
            #expect(try await world.subscription("d1") == (isOnChannel ? "riding" : "waiting_for_token"))
            #expect(try await world.show().progress.waitingForToken == (isOnChannel ? 0 : 1))
        }
    }

    @Test("Everybody of the audience is started once, whoever registers later, too, and nobody else")
    func standingRule() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.register("d2", token: "5a02", user: "u1")
            try await world.register("d3", token: "5a03")
            try await world.register("d4", user: "u1")
            var audience = World.devices("d1", "d5")
            audience.users = [UserID(stored: "u1"), UserID(stored: "u9")]
            let (answer, _) = try await world.start(to: audience)
            #expect(answer.audience.devices == 3)
            #expect(answer.audience.unknownUsers == 1)
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["5a01", "5a02"])
            // Later: a device by name, one of a user, one that got its token, one that changed its user, one that did
            // not.
            try await world.register("d5", token: "5a05")
            try await world.register("d6", token: "5a06", user: "u9")
            try await world.register("d4", token: "5a04")
            try await world.register("d3", user: "u1")
            try await world.register("d7", token: "5a07", user: "u7")
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["5a05", "5a06", "5a04", "5a03"])
            for number in 1...6 { try await world.register("d\(number)", token: "5b0\(number)") }
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("An audience of all is everybody with a start token of the type")
    func all() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.register("d2")
            let (answer, _) = try await world.start(to: Audience(allOfType: true))
            #expect(answer.audience.devices == 1)
            try await world.settle()
            try await world.register("d2", token: "5a02")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01", "5a02"])
        }
    }

    @Test("Whoever is added to the audience is started; a device that starts its card itself is not started besides")
    func addition() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.register("d2", token: "5a02")
            try await world.start()
            try await world.follow("d2", token: "aa02", known: 1)
            try await world.settle()
            let request = AudienceRequest(add: World.devices("d1", "d2"))
            let final = ActivityID(stored: "final")
            #expect(try await world.orchestrator.intake.changeAudience(world.app, final, request).answer.devices == 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            _ = try await world.orchestrator.intake.changeAudience(world.app, final, request)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A device that registers while the audience is enrolled is started by one of the two, once")
    func registrationRace() async throws {
        try await withWorld { world in
            try await world.start(to: Audience(allOfType: true))
            try await withThrowingTaskGroup { group in
                for number in 10...29 {
                    group.addTask { try await world.register("d\(number)", token: "5a\(number)") }
                }
                group.addTask { try await world.settle() }
                try await group.waitForAll()
            }
            // Those whose devices were locked are looked at again after a moment.
            try await world.hurry()
            try await world.settle()
            let started = world.recorder.take().map(\.destination)
            #expect(Set(started).count == 20)
            #expect(started.count == 20)
        }
    }

    @Test("A start without an answer is repeated once, on record, and then left alone")
    func unknownStart() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answerAll(with: .noAnswer)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.startState("d1") == "unknown")
            try await world.pass(80)
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            try await world.pass(21)
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            try await world.pass(1000)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            let starts = try await world.show().starts
            #expect(starts.unanswered == 1)
            #expect(starts.repeated == 1)
            #expect(try await world.number("SELECT count(*) FROM segments WHERE due_at IS NOT NULL") == 0)
            // Nor does a new registration make it due.
            try await world.register("d1", token: "5b01")
            #expect(try await world.number("SELECT count(*) FROM starts WHERE due_at IS NOT NULL") == 0)
        }
    }

    @Test("A repeat stays on record though it failed at first and the device registered anew")
    func repeatAfterFailure() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .noAnswer, .unregistered(at: nil))
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.pass(101)
            try await world.settle()
            #expect(try await world.startState("d1") == "failed")
            world.recorder.answer("5b01", with: .noAnswer)
            try await world.register("d1", token: "5b01")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01", "5a01", "5b01"])
            #expect(try await world.show().starts.repeated == 1)
            // Two may have arrived: from now on only the phone can tell, whatever it registers.
            try await world.register("d1", token: "5c01")
            try await world.pass(1000)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().starts.unanswered == 1)
        }
    }

    @Test("A claim whose daemon died is treated as a start without an answer")
    func crashAfterClaim() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            let gate = world.recorder.close()
            let dead = Task { try await world.settle() }
            await gate.arrivals()
            // Its lease runs out, and what it hears later it cannot tell any more.
            try await world.expireLeases()
            try await world.database.execute("UPDATE starts SET claimed_at = claimed_at - interval '1 second'")
            world.recorder.open()
            try await dead.value
            #expect(try await world.startState("d1") == "claimed")
            _ = world.recorder.take()
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.pass(101)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.show().starts.repeated == 1)
            #expect(try await world.startState("d1") == "sent")
        }
    }

    @Test("The phone's own report settles a start, which is then not repeated")
    func settledByReport() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .noAnswer)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            #expect(try await world.startState("d1") == "settled")
            try await world.pass(200)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("A card that may show its first start's state is sent the newest one, though its repeat carried that")
    func repeatIsNotBelieved() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .noAnswer, .notSent)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.update(score: 1)
            try await world.pass(101)
            try await world.settle()
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0, 1, 1])
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }

    @Test("A started phone that waits for its token gets the newest state with its alert when it has one")
    func waiting() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            try await world.update(score: 2, alert: "Di Maria")
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.show().progress.waitingForToken == 1)
            _ = world.recorder.take()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [2])
            #expect(pushes.map(\.alert) == ["Di Maria"])
        }
    }

    /// An answer that tells something of the start token, and what becomes of the token and the start.
    @Test(
        "A start token dies only of being dead, and a new report starts the device after all",
        arguments: [
            (PushOutcome.unregistered(at: nil), "dead"), (.unregistered(at: 4_102_444_800_000), "dead"),
            (.badToken, "rejected"),
        ]
    )
    func deadStartToken(outcome: PushOutcome, state: String) async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: outcome)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.word("SELECT state::text FROM start_tokens") == state)
            #expect(try await world.startState("d1") == "failed")
            #expect(try await world.show().starts.reasons == [outcome.words: 1])
            _ = world.recorder.take()
            try await world.pass(1000)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.register("d1", token: "5b01")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5b01"])
            #expect(try await world.startState("d1") == "sent")
        }
    }

    @Test("A start token that Apple calls dead stays dead, whatever the late answer to an earlier push says")
    func lateRejection() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .badToken, .unregistered(at: nil))
            let gate = world.recorder.close(for: "5a01")
            try await world.start("first", to: World.devices("d1"))
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.start("second", to: World.devices("d1"))
            try await world.settle()
            gate.open()
            try await walk
            #expect(world.recorder.take().count == 2)
            let device = try await world.orchestrator.device(world.app, DeviceID(stored: "d1"))
            #expect(device.startTokens[World.game]?.state == .dead)
            #expect(try await world.events(.tokenDied).count == 1)
        }
    }

    @Test("A start token that was reported after Apple knew it as dead is tried again")
    func revivedStartToken() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .unregistered(at: 1_000_000_000_000))
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.word("SELECT state::text FROM start_tokens") == "live")
            #expect(try await world.startState("d1") == "pending")
            try await world.pass(31)
            try await world.settle()
            #expect(try await world.startState("d1") == "sent")
        }
    }

    @Test("A device that registers anew while its start is under way is started by that report if the old one fails")
    func renewedInFlight() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .unregistered(at: nil))
            try await world.start(to: World.devices("d1"))
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.register("d1", token: "5b01")
            world.recorder.open()
            try await walk
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01", "5b01"])
            #expect(try await world.startState("d1") == "sent")
        }
    }

    @Test("The late answer to a start does nothing to the token of a device that has moved to the other environment")
    func movedInFlight() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .badToken)
            try await world.start(to: World.devices("d1"))
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.register("d1", token: "5a01", on: .sandbox)
            world.recorder.open()
            try await walk
            #expect(world.recorder.take().count == 1)
            #expect(try await world.word("SELECT state::text FROM start_tokens") == "live")
        }
    }

    @Test("A registration while a start is under way makes it leave once more if it fails, and not again")
    func renewedOnce() async throws {
        try await withWorld { world in
            let refused = PushOutcome(.requestInvalid, status: 400, reason: "BadTopic")
            try await world.register("d1", token: "5a01")
            world.recorder.answerAll(with: refused)
            try await world.start(to: World.devices("d1"))
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.register("d1", token: "5a01")
            world.recorder.open()
            try await walk
            for _ in 1...3 {
                try await world.pass(31)
                try await world.settle()
            }
            #expect(world.recorder.take().map(\.destination) == ["5a01", "5a01"])
            #expect(try await world.startState("d1") == "failed")
        }
    }

    @Test("A phone that reports before its start is answered has one subscription, with the token")
    func reportBeforeAnswer() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.register("d2", token: "5a02")
            try await world.start(to: World.devices("d1", "d2"))
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.follow("d1", token: "aa01")
            try await world.report("d2", .ended)
            world.recorder.open()
            try await walk
            try await world.settle()
            #expect(try await world.startState("d1") == "settled")
            #expect(try await world.subscription("d1") == "riding")
            #expect(try await world.subscription("d2") == "over")
            #expect(try await world.show().progress.waitingForToken == 0)
        }
    }

    @Test("A device that is deleted before its start is answered takes nothing from the others of its batch")
    func deletionBeforeAnswer() async throws {
        try await withWorld(policy: { $0.startRetrySeconds = 100 }) { world in
            for number in 1...3 { try await world.register("d\(number)", token: "5a0\(number)") }
            world.recorder.answer("5a03", with: .unregistered(at: nil))
            try await world.start(to: World.devices("d1", "d2", "d3"))
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            for device in ["d1", "d3"] {
                try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: device))
            }
            world.recorder.open()
            try await walk
            #expect(try await world.startState("d2") == "sent")
            #expect(try await world.subscription("d2") == "waiting_for_token")
            try await world.pass(1000)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination).sorted() == ["5a01", "5a02", "5a03"])
        }
    }

    @Test("After the end no start leaves; one that was under way is ended when its phone reports")
    func end() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.register("d2", token: "5a02")
            world.recorder.answer("5a01", with: .noAnswer)
            world.recorder.answer("5a02", with: .tooMany)
            try await world.start(to: World.devices("d1", "d2"))
            try await world.settle()
            try await world.end()
            try await world.settle()
            #expect(try await world.startState("d1") == "unknown")
            #expect(try await world.startState("d2") == "cancelled")
            _ = world.recorder.take()
            try await world.register("d3", token: "5a03")
            try await world.pass(1000)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("Without a signing key starts wait unclaimed, and leave when there is one")
    func noKey() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            let key = try await world.database.query("DELETE FROM signing_keys RETURNING key_id, private_key_sealed")
                .first(as: (String, [UInt8]).self)
            let (id, sealed) = try #require(key)
            for _ in 1...3 {
                try await world.settle()
                try await world.pass(1000)
            }
            #expect(try await world.startState("d1") == "pending")
            try await world.database.execute(
                """
                INSERT INTO signing_keys (bundle_id, environment, key_id, private_key_sealed)
                VALUES (\(world.app.rawValue), 'production', \(id), \(sealed))
                """
            )
            try await world.settle()
            #expect(world.recorder.take().count == 1)
            #expect(try await world.show().starts.repeated == 0)
        }
    }
}
