import APITypes
import APNSTransport
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Ordinary pushes and the tokens of devices", .timeLimit(.minutes(2)))
struct PushTokenTests {
    @Test("A token that APNs calls dead is forgotten, unless the device has reported since")
    func death() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            world.recorder.answer("aa01", with: .unregistered(at: 4_000_000_000_000))
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == nil)
            let none = try await problem {
                _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            }
            #expect(none?.code == "no_device_token")
        }
    }

    @Test("A token that APNs calls dead is forgotten, although the device has reported other things since")
    func deathBetweenReports() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            try await world.database.execute("UPDATE devices SET token_registered_at = now() - interval '1 hour'")
            let died = try await world.number("SELECT (extract(epoch FROM now() - interval '1 minute') * 1000)::int8")
            try await world.register("phone", os: "18.2")
            world.recorder.answer("aa01", with: .unregistered(at: died))
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == nil)
        }
    }

    @Test("A token that the device has reported since its death is tried again, but not for ever")
    func contradictedDeath() async throws {
        try await withWorld { world in
            // Since 2001, which is before the report.
            world.recorder.answerAll(with: .unregistered(at: 1_000_000_000_000))
            for _ in 1...2 {
                // The app is sure of it.
                try await world.register("phone", deviceToken: "aa01")
                for _ in 1...4 {
                    #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == "aa01")
                    _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
                    try await world.sendDuePushes()
                }
                #expect(world.recorder.take().count == 4)
                #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == nil)
            }
        }
    }

    @Test("A rejected token is kept and gets no pushes until the app reports it again; no other report revives it")
    func rejection() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            world.recorder.answer("aa01", with: .badToken)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            #expect(world.recorder.take().count == 1)
            try await world.register("phone", os: "18.2")
            let none = try await problem {
                _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            }
            #expect(none?.code == "no_device_token")
            #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == "aa01")

            try await world.register("phone", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
        }
    }

    @Test(
        "What is for a token that was rejected on the way to a halt waits for its end, which revives the token or not",
        arguments: [true, false]
    )
    func suspects(reviving: Bool) async throws {
        try await withWorld { world in
            let tablet = PushRequest.Target.device(DeviceID(stored: "tablet"))
            try await world.register("phone", deviceToken: "aa01")
            try await world.register("tablet", deviceToken: "aa02")
            world.recorder.answerAll(with: .badToken)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(tablet))
            try await world.sendDuePushes()
            #expect(world.recorder.take().count == 2)
            world.recorder.answerAll(with: nil)
            _ = try await world.database.pipeline([
                """
                UPDATE devices SET token_rejected_at = token_rejected_at - interval '1 hour' WHERE device_id = 'tablet'
                """,
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now() - interval '1 minute', 100, 100, now() + interval '1 hour')
                """,
            ])
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            let older = try await problem { _ = try await world.orchestrator.intake.push(world.app, .ordinary(tablet)) }
            #expect(older?.code == "no_device_token")
            try await world.sendDuePushes()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.waitingPushes() == 1)

            try await world.orchestrator.liftHalt(world.app, .production, reviving: reviving)
            let rejected: Query = """
                SELECT string_agg(device_id, ' ' ORDER BY device_id) FROM devices WHERE token_rejected_at IS NOT NULL
                """
            #expect(try await world.word(rejected) == (reviving ? "tablet" : "phone tablet"))
            let next = try await problem {
                _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            }
            #expect(next?.code == (reviving ? nil : "no_device_token"))
            try await world.database.execute("UPDATE pushes SET due_at = clock_timestamp()")
            try await world.sendDuePushes()
            #expect(world.recorder.take().map(\.destination) == (reviving ? ["aa01", "aa01"] : []))
            #expect(try await world.waitingPushes() == 0)
        }
    }

    @Test("What waits for a token of a device fails unsent when the token is rejected; other tokens get their pushes")
    func rejectedMeanwhile() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            for _ in 1...2 { _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone)) }
            let last: Query = "push_key = (SELECT max(push_key) FROM pushes)"
            try await world.database.execute(
                "UPDATE pushes SET due_at = now() + interval '1 hour' WHERE \(part: last)"
            )
            world.recorder.answer("aa01", with: .badToken)
            try await world.sendDuePushes()
            #expect(world.recorder.take().count == 1)
            // One that the caller gave, and one that the device had before.
            try await world.acceptPushes(["aa01", "aa02"], of: world.app)
            try await world.database.execute(
                "UPDATE pushes SET device_key = (SELECT device_key FROM devices) WHERE \(part: last)"
            )
            try await world.database.execute("UPDATE pushes SET due_at = clock_timestamp()")
            try await world.sendDuePushes()
            #expect(Set(world.recorder.take().map(\.destination)) == ["aa01", "aa02"])
            #expect(
                try await world.events(.pushFailed).map { $0.detail["reason"]?.string } == [
                    "400 BadDeviceToken", "token_rejected",
                ]
            )
            #expect(try await world.events(.pushSent).count == 2)
            #expect(try await world.waitingPushes() == 0)
        }
    }

    @Test("During a halt, what waits for a token that was rejected long before fails, and is no probe")
    func rejectedBeforeHalt() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            _ = try await world.database.pipeline([
                "UPDATE devices SET token_rejected_at = now() - interval '1 hour'",
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now() - interval '1 minute', 100, 100, now())
                """,
            ])
            try await world.sendDuePushes()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.waitingPushes() == 0)
            #expect(try await world.number("SELECT probes::int8 FROM sending_halts") == 0)
            #expect(try await world.events(.pushFailed).map { $0.detail["reason"]?.string } == ["token_rejected"])
        }
    }

    @Test("The death of a token does nothing to the one that the device has reported in its place")
    func lateDeath() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            world.recorder.answer("aa01", with: .unregistered(at: 4_000_000_000_000))
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            let gate = world.recorder.close()
            async let sending: Void = world.sendDuePushes()
            await gate.arrivals()
            try await world.register("phone", deviceToken: "bb01")
            world.recorder.open()
            try await sending
            #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == "bb01")
        }
    }

    @Test(
        "A late answer does nothing to the token of a device that has moved to the other environment with it",
        arguments: [PushOutcome.badToken, .unregistered(at: 4_000_000_000_000)]
    )
    func lateAnswerOfEnvironment(answer: PushOutcome) async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.register("phone", deviceToken: "aa01")
            world.recorder.answer("aa01", with: answer)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            let gate = world.recorder.close()
            async let sending: Void = world.sendDuePushes()
            await gate.arrivals()
            try await world.register("phone", deviceToken: "aa01", on: .sandbox)
            world.recorder.open()
            try await sending
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            #expect(world.recorder.take().map(\.environment) == [.production, .sandbox])
            #expect(try await world.events(.pushSent).count == 1)
        }
    }
}
