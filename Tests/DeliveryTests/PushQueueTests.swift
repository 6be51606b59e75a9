import APITypes
import APNSTransport
import ActivityModel
import Cryptography
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

@Suite("Ordinary pushes", .timeLimit(.minutes(2)))
struct PushQueueTests {
    @Test("What is not due yet is not read again and again")
    func waitingPushes() async throws {
        try await withWorld(connections: 1) { world in
            try await world.register("phone", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.database.execute(
                """
                INSERT INTO pushes (push_id, bundle_id, environment, token, push_type, priority, body, deadline, due_at)
                SELECT push_id, bundle_id, environment, token, push_type, priority, body, deadline, now() + interval '1 hour'
                FROM pushes, generate_series(1, 3000)
                """
            )
            try await world.database.execute("ANALYZE pushes")
            let before = try await world.rowsRead("pushes")
            #expect(try await PushQueue(room: world.orchestrator.delivery).claim(in: .production).count == 1)
            #expect(try await world.rowsRead("pushes") - before < 100)
        }
    }

    @Test("A push goes to every device of a user that has a token, with the header fields that were asked for")
    func user() async throws {
        try await withWorld { world in
            try await world.register("phone", user: "fan", deviceToken: "aa01")
            try await world.register("tablet", user: "fan", deviceToken: "aa02")
            try await world.register("watch", user: "fan")
            try await world.register("other", user: "other", deviceToken: "aa03")
            var request = PushRequest.ordinary(.user(UserID(stored: "fan")))
            request.custom = ["order": 7]
            request.collapseID = "goal-1"
            request.priority = .five
            request.expiresAt = Instant(unixSeconds: 4_000_000_000)
            let answer = try await world.orchestrator.intake.push(world.app, request).answer
            #expect(answer.destinations == 2)
            try await world.sendDuePushes()
            let pushes = world.recorder.take()
            #expect(Set(pushes.map(\.destination)) == ["aa01", "aa02"])
            #expect(pushes.allSatisfy { $0.topic == "com.example.app" && $0.type == .alert && $0.priority == .five })
            #expect(pushes.allSatisfy { $0.expiration == 4_000_000_000 })
            #expect(pushes.first?.body == ["aps": ["alert": "Goal"], "order": 7])
            #expect(try await world.waitingPushes() == 0)
            let events = try await world.events(.pushSent)
            #expect(events.map { $0.detail["push_id"]?.string } == [answer.pushID, answer.pushID])
            #expect(Set(events.compactMap(\.device?.rawValue)) == ["phone", "tablet"])
            #expect(events.allSatisfy { $0.app == world.app && $0.environment == .production })
        }
    }

    @Test("Each push type has its topic and its limit", arguments: [PushType.voip, .pushToTalk, .widgets, .location])
    func types(type: PushType) async throws {
        try await withWorld { world in
            let token = try #require(PushToken(hex: "bb01"))
            let aps: JSONValue? = type == .widgets ? nil : [:]
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.token(token, nil), type, aps: aps))
            try await world.sendDuePushes()
            #expect(world.recorder.take().map(\.topic) == [type.topic(of: world.app)])
            var large = PushRequest.ordinary(.token(token, nil), type, aps: aps)
            large.custom = ["x": .string(String(repeating: "x", count: 4_500))]
            let problem = try await problem { _ = try await world.orchestrator.intake.push(world.app, large) }
            #expect((problem == nil) == (type == .voip))
            #expect(problem == nil || problem?.code == "payload_too_large")
        }
    }

    @Test("A push that APNs cannot take now is tried again until its deadline, one that it refuses is not")
    func retries() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            world.recorder.answer("aa01", with: .unavailable, .noAnswer)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            for _ in 0..<3 {
                try await world.sendDuePushes()
                _ = try await world.database.execute("UPDATE pushes SET due_at = clock_timestamp()")
            }
            #expect(world.recorder.take().count == 3)
            #expect(try await world.events(.pushSent).map { $0.detail["tries"]?.int64 } == [3])

            world.recorder.answer("aa01", with: .badKey)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            _ = try await world.database.execute(
                "UPDATE pushes SET due_at = clock_timestamp(), deadline = clock_timestamp()"
            )
            try await world.sendDuePushes()
            #expect(try await world.waitingPushes() == 0)
            #expect(world.recorder.take().count == 1)

            world.recorder.answer("aa01", with: .badToken)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.sendDuePushes()
            #expect(
                try await world.events(.pushFailed).map { $0.detail["reason"]?.string } == [
                    "expired", "400 BadDeviceToken",
                ]
            )
            #expect(try await world.word("SELECT encode(device_token, 'hex') FROM devices") == "aa01")
        }
    }

    @Test("A daemon that dies with pushes in its hands leaves them to another")
    func crash() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            let taken = try await PushQueue(room: world.orchestrator.delivery).claim(in: .production)
            #expect(taken.count == 1)
            try await world.sendDuePushes()
            #expect(world.recorder.take().isEmpty)
            _ = try await world.database.execute("UPDATE pushes SET due_at = clock_timestamp()")
            try await world.sibling().sendDuePushes()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
        }
    }

    @Test("A push for a device that is erased at the same moment is refused like one for a device that never was")
    func erasureBeforePush() async throws {
        try await withWorld { world in
            try await world.register("phone", user: "fan", deviceToken: "aa01")
            let refusal = try await besideErasure(of: "fan", in: world) { () async throws -> Problem? in
                try await problem { _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone)) }
            }
            #expect(refusal?.status == 404)
        }
    }

    @Test("No event of a push is left of a device that is erased while the push is settled")
    func erasureBeforeSettlement() async throws {
        try await withWorld { world in
            try await world.register("phone", user: "fan", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            let gate = world.recorder.close()
            let sending = Task { try await world.sendDuePushes() }
            await gate.arrivals()
            try await besideErasure(of: "fan", in: world) {
                world.recorder.open()
                try await sending.value
            }
            #expect(world.recorder.take().count == 1)
            #expect(try await world.waitingPushes() == 0)
            #expect(try await world.events(.pushSent).allSatisfy { $0.device == nil })
        }
    }

    /// Carries something out that comes to wait for an erasure of which all is done but the COMMIT.
    private func besideErasure<Result: Sendable>(
        of user: String,
        in world: World,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let gate = Gate()
        let eraser = world.sibling(
            behind: StatementGate { (moment) async throws(PostgresError) in
                if moment == .beforeCommit { await gate.pass() }
            }
        )
        defer { gate.open() }
        async let erasure: Void = eraser.orchestrator.eraseUser(world.app, UserID(stored: user))
        await gate.arrivals()
        async let result = body()
        try await world.someoneWaits()
        gate.open()
        try await erasure
        return try await result
    }

    @Test("While sending is halted a push waits; its deadline passes all the same")
    func halt() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            _ = try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 100, now() + interval '1 hour')
                """
            )
            try await world.sendDuePushes()
            #expect(try await world.waitingPushes() == 1)
            // It is seldom met meanwhile.
            let soon: Query = "SELECT count(*) FROM pushes WHERE due_at <= clock_timestamp() + interval '4 minutes'"
            #expect(try await world.number(soon) == 0)
            _ = try await world.database.execute(
                "UPDATE pushes SET due_at = clock_timestamp(), deadline = clock_timestamp()"
            )
            try await world.sendDuePushes()
            #expect(try await world.waitingPushes() == 0)
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("When a halt is lifted what it has put off is due soon, and what some daemon has in hand stays with it")
    func lift() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            try await world.register("tablet", deviceToken: "aa02")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            #expect(try await PushQueue(room: world.orchestrator.delivery).claim(in: .production).count == 1)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.device(DeviceID(stored: "tablet"))))
            _ = try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 100, now() + interval '1 hour')
                """
            )
            try await world.sendDuePushes()
            let dates: Query = "SELECT due_at FROM pushes ORDER BY push_key"
            let before = try await world.database.query(dates).decoded(as: PGTimestamp.self)
            try await world.orchestrator.liftHalt(world.app, .production, reviving: false)
            let after = try await world.database.query(dates).decoded(as: PGTimestamp.self)
            #expect(after[0] == before[0])
            let lease = QueuedPush.lease(world.orchestrator.settings)
            let late: Query = "SELECT count(*) FROM pushes WHERE due_at > clock_timestamp() + \(lease)"
            #expect(try await world.number(late) == 0)
            _ = try await world.database.execute("UPDATE pushes SET due_at = clock_timestamp()")
            try await world.sendDuePushes()
            #expect(Set(world.recorder.take().map(\.destination)) == ["aa01", "aa02"])
        }
    }

    @Test("A refused environment of a token is named with its place in the body")
    func environmentWithoutKey() async throws {
        try await withWorld { world in
            let token = try #require(PushToken(bytes: [0xAA, 0x01]))
            let refused = try await problem {
                _ = try await world.orchestrator.intake.push(world.app, .ordinary(.token(token, .sandbox)))
            }
            #expect(refused?.errors.map(\.pointer.description) == ["/to/environment"])
        }
    }

    @Test("An app that sends nothing but ordinary pushes is probed with some of them, and goes on when they are taken")
    func probe() async throws {
        try await withWorld { world in
            for number in 10..<30 {
                try await world.register("d\(number)", user: "fan", deviceToken: "aa\(number)")
            }
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.user(UserID(stored: "fan"))))
            _ = try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 100, now() + interval '1 hour')
                """
            )
            try await world.sendDuePushes()
            #expect(world.recorder.take().isEmpty)
            func becomeDue() async throws {
                _ = try await world.database.pipeline([
                    "UPDATE sending_halts SET probe_at = clock_timestamp()",
                    "UPDATE pushes SET due_at = clock_timestamp()",
                ])
            }
            world.recorder.answerAll(with: .badToken)
            try await becomeDue()
            try await world.sendDuePushes()
            #expect(world.recorder.take().count == SendingHalt.probeSize)
            #expect(try await world.number("SELECT probes::int8 FROM sending_halts") == 1)
            world.recorder.answerAll(with: nil)
            try await becomeDue()
            try await world.sendDuePushes()
            #expect(world.recorder.take().count == 20 - SendingHalt.probeSize)
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == 0)
            #expect(try await world.waitingPushes() == 0)
        }
    }

    @Test("Pushes leave for one environment while the other does not answer")
    func environments() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            var both = try AppRequest.production(key: P256PrivateKey.generate().pem())
            both.environments[.sandbox] = both.environments[.production]
            _ = try await world.orchestrator.putApp(world.app, both)
            _ = try await world.database.execute(
                """
                INSERT INTO pushes (push_id, bundle_id, environment, token, push_type, priority, body, deadline)
                SELECT gen_random_uuid(), \(world.app.rawValue), 'sandbox', decode('bb01', 'hex'), 'alert', 10, '{}',
                       now() + interval '1 day'
                FROM generate_series(1, 450)
                """
            )
            let gate = world.recorder.close()
            let queue = Task {
                async let looks: Void = world.orchestrator.deliveryStore.dueWork.run()
                await PushQueue(room: world.orchestrator.delivery).run()
                await looks
            }
            await gate.arrivals(400)
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            await world.recorder.wait { pushes in pushes.contains { $0.destination == "aa01" } }
            world.recorder.open()
            queue.cancel()
            await queue.value
        }
    }

    /// Registers another app.
    private func registerOther(in world: World) async throws -> BundleID {
        let other = BundleID(stored: "com.example.other")
        _ = try await world.orchestrator.putApp(other, .production(key: P256PrivateKey.generate().pem()))
        return other
    }

    @Test("Pushes of a silent app stay as they are and are not read, and those behind them leave")
    func silentApp() async throws {
        try await withWorld(connections: 1) { world in
            let other = try await registerOther(in: world)
            try await world.acceptPushes(Array(repeating: "bb01", count: 3_000), of: world.app)
            try await world.acceptPushes(["aa01", "aa02"], of: other)
            try await world.database.execute("ANALYZE pushes")
            let queue = PushQueue(room: world.orchestrator.delivery)
            let before = try await world.rowsRead("pushes")
            let pushes = try await queue.claim(in: .production, except: [world.app])
            #expect(try await world.rowsRead("pushes") - before < 100)
            #expect(Set(pushes.map(\.token.hex)) == ["aa01", "aa02"])
            #expect(try await queue.claim(in: .production, except: [world.app]).isEmpty)
            #expect(try await world.number("SELECT count(*) FROM pushes WHERE due_at <= now()") == 3_000)
            #expect(try await queue.claim(in: .sandbox, except: [other]).isEmpty)
            let own = try await queue.claim(in: .production, except: [other])
            #expect(own.count == 100 && own.allSatisfy { $0.app == world.app })
        }
    }

    @Test("While an app is silent the pushes of others leave, and when it has answered so do the rest of its own")
    func silence() async throws {
        try await withWorld { world in
            let other = try await registerOther(in: world)
            try await world.acceptPushes(Array(repeating: "bb01", count: 750), of: world.app)
            let gate = world.recorder.close()
            let queue = Task {
                async let looks: Void = world.orchestrator.deliveryStore.dueWork.run()
                await PushQueue(room: world.orchestrator.delivery, patience: .zero).run()
                await looks
            }
            await gate.arrivals(PushBatches.mostOfApp)
            try await world.acceptPushes(["aa01"], of: other)
            await world.recorder.wait { pushes in pushes.contains { $0.destination == "aa01" } }
            world.recorder.open()
            await world.recorder.wait { $0.count == 751 }
            queue.cancel()
            await queue.value
        }
    }

    @Test("Many pushes to one wrong token halt nothing; many wrong tokens do", arguments: [1, 150])
    func wrongTokens(count: Int) async throws {
        try await withWorld { world in
            let tokens = (0..<150).map { "bb" + String(100 + $0 % count) + "0" }
            try await world.acceptPushes(tokens, of: world.app)
            world.recorder.answerAll(with: .badToken)
            try await world.sendDuePushes()
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == (count == 1 ? 0 : 1))
        }
    }

    @Test("A probe tries each token once; one bad token alone is no verdict, and lets the pause grow later")
    func probeOfOneToken() async throws {
        try await withWorld { world in
            try await world.acceptPushes(Array(repeating: "bb01", count: 20), of: world.app)
            _ = try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 100, now())
                """
            )
            func becomeDue() async throws {
                _ = try await world.database.pipeline([
                    "UPDATE sending_halts SET probe_at = clock_timestamp()",
                    "UPDATE pushes SET due_at = clock_timestamp()",
                ])
            }
            world.recorder.answerAll(with: .badToken)
            for (probes, pause) in [(1, 60), (2, 60), (3, 60), (4, 120)] as [(Int64, Int64)] {
                try await becomeDue()
                try await world.sendDuePushes()
                #expect(world.recorder.take().map(\.destination) == ["bb01"])
                #expect(try await world.number("SELECT probes::int8 FROM sending_halts") == probes)
                let left = try #require(
                    try await world.number("SELECT extract(epoch FROM probe_at - now())::int8 FROM sending_halts")
                )
                #expect((pause - 30...pause).contains(left))
            }

            world.recorder.answerAll(with: nil)
            world.recorder.answer("bb01", with: .badToken)
            let others = (1...5).map { "aa0\($0)" }
            try await world.acceptPushes(others, of: world.app)
            try await becomeDue()
            try await world.sendDuePushes()
            #expect(Set(world.recorder.take().map(\.destination)) == Set(others + ["bb01"]))
            #expect(try await world.number("SELECT count(*) FROM sending_halts") == 0)
        }
    }

    @Test("One Idempotency-Key is one push; another body under it is refused")
    func idempotency() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            func key(_ hash: UInt8) -> IdempotencyKey {
                IdempotencyKey(
                    apiKeyID: "k",
                    app: world.app,
                    method: "POST",
                    path: "/pushes",
                    key: "1",
                    bodyHash: [hash]
                )
            }
            let first = try await world.orchestrator.intake.push(world.app, .ordinary(.phone), idempotency: key(1))
            let again = try await world.orchestrator.intake.push(world.app, .ordinary(.phone), idempotency: key(1))
            #expect(again.answer == first.answer)
            #expect(again.isReplay && !first.isReplay)
            #expect(try await world.waitingPushes() == 1)
            let other = try await problem {
                _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone), idempotency: key(2))
            }
            #expect(other?.code == "idempotency_key_reused")
        }
    }

    @Test("What cannot be sent is refused with its place")
    func refusals() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            let token = PushRequest.Target.token(try #require(PushToken(hex: "bb01")), nil)
            let none = PushRequest.Target.device(DeviceID(stored: "none"))
            var past = PushRequest.ordinary(.phone)
            past.expiresAt = Instant(unixSeconds: 1)
            let cases: [(PushRequest, Int, String)] = [
                (.ordinary(none), 404, ""),
                (.ordinary(.user(UserID(stored: "none"))), 404, ""),
                (.ordinary(.phone, aps: [:]), 422, "/aps"),
                (.ordinary(.phone, aps: ["alert": "x", "colour": 1]), 422, "/aps/colour"),
                (.ordinary(.phone, .background, aps: ["sound": "x"]), 422, "/aps/sound"),
                (.ordinary(token, .liveActivity, aps: [:]), 422, "/push_type"),
                (past, 422, "/expires_at"),
            ]
            for (request, status, pointer) in cases {
                let problem = try await problem { _ = try await world.orchestrator.intake.push(world.app, request) }
                #expect(problem?.status == status)
                #expect(problem?.errors.first?.pointer.description ?? "" == pointer)
            }
            #expect(try await world.waitingPushes() == 0)
        }
    }

    @Test("A device that is erased takes its waiting pushes with it")
    func erasure() async throws {
        try await withWorld { world in
            try await world.register("phone", user: "fan", deviceToken: "aa01")
            _ = try await world.orchestrator.intake.push(world.app, .ordinary(.phone))
            try await world.orchestrator.eraseUser(world.app, UserID(stored: "fan"))
            #expect(try await world.waitingPushes() == 0)
        }
    }
}
