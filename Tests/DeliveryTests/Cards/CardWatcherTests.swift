import APITypes
import APNSTransport
import ActivityModel
import DeliveryStore
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import ServiceLifecycle
import Store
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import Orchestrator

@Suite("Cards as time passes", .timeLimit(.minutes(2)))
struct CardWatcherTests {
    private func watch(_ world: World) async throws {
        while try await world.watchCards() > 0 {}
    }

    private func started(_ world: World, _ devices: String...) async throws {
        for (index, device) in devices.enumerated() {
            try await world.register(device, token: "5a0\(index + 1)", deviceToken: "de0\(index + 1)")
        }
        try await world.start(to: Audience(devices: devices.map(DeviceID.init(stored:))))
        try await world.settle()
        _ = world.recorder.take()
    }

    private func overdue(_ world: World) async throws -> Int64? {
        try await world.number("SELECT count(*) FROM events WHERE kind = 'token_wait_overdue'")
    }

    /// Claims old cards of these activities, of every device one. The end of an activity's goes to ee0 and its last digit.
    private func oldCards(of ids: [String], _ world: World, _ daemon: World) async throws -> OldCards {
        try await world.database.execute(
            """
            INSERT INTO continuations (activity_key, device_key, activitykit_id, started_at, attempts, handed_over,
                update_token, due_at)
            SELECT activity_key, device_key, 'A', now(), 1, true, decode('ee0' || right(activity_id, 1), 'hex'), now()
            FROM activities CROSS JOIN devices WHERE activity_id = ANY(\(ids))
            """
        )
        return try await OldCards.claim(daemon.orchestrator.delivery)
    }

    private func openEnds(_ world: World) async throws -> Int64? {
        try await world.number("SELECT count(*) FROM continuations WHERE due_at IS NOT NULL")
    }

    @Test("An end that APNs does not answer keeps no other old card from being done")
    func silentOldCard() async throws {
        try await withWorld { world in
            try await world.register("d1")
            for number in 1...3 { try await world.start("m\(number)") }
            let old = try await oldCards(of: ["m1", "m2", "m3"], world, world)
            let silent = world.recorder.close(for: "ee01")
            let sending = Task { await old.send(patience: .milliseconds(1)) }
            try await eventually("the two others are done") { try await openEnds(world) == 1 }
            silent.open()
            await sending.value
            #expect(try await openEnds(world) == 0)
            #expect(world.recorder.take().count == 3)
        }
    }

    @Test("When sending halts, no further end of a batch of old cards leaves; those that are left follow later")
    func halt() async throws {
        try await withWorld { world in
            try await world.register("d1")
            for number in 1...3 { try await world.start("m\(number)") }
            let old = try await oldCards(of: ["m1", "m2", "m3"], world, world)
            let first = world.recorder.close(for: "ee01")
            let sending = Task { await old.send(atOnce: 1) }
            await first.arrivals()
            let halts = world.orchestrator.deliveryStore.halts
            let scope = HaltScope(app: world.app, environment: .production)
            await halts.observe(AnswerWatch.Count(answers: 100, rejections: 50), of: [], in: scope)
            first.open()
            await sending.value
            #expect(world.recorder.take().map(\.destination) == ["ee01"])
            try await world.orchestrator.deliveryStore.liftHalt(world.app, .production, reviving: true)
            try await world.pass(60)
            try await OldCards.claim(world.orchestrator.delivery).send()
            #expect(world.recorder.take().map(\.destination).sorted() == ["ee02", "ee03"])
        }
    }

    @Test("The ends of old cards of many activities are allowed and stored together")
    func oldCardsTogether() async throws {
        try await withWorld { world in
            try await world.register("d1")
            for number in 1...4 { try await world.start("m\(number)") }
            let questions = Mutex(0)
            let daemon = world.sibling(
                behind: StatementGate { (moment) async throws(PostgresError) in
                    if moment == .betweenTransactions { questions.withLock { $0 += 1 } }
                }
            )
            var asked: [Int] = []
            for ids in [["m1"], ["m2", "m3", "m4"]] {
                let old = try await oldCards(of: ids, world, daemon)
                questions.withLock { $0 = 0 }
                await old.send(patience: .seconds(60))
                asked.append(questions.withLock { $0 })
            }
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == ["ee01", "ee02", "ee03", "ee04"])
            #expect(pushes.allSatisfy { $0.event == "end" })
            #expect(try await world.number("SELECT count(*) FROM continuations WHERE due_at IS NOT NULL") == 0)
            // For each activity there is a look how much its timeline says.
            #expect(asked[1] - asked[0] <= 2)
        }
    }

    @Test("Old cards of several activities are asked for in one look, each with the state of its own activity")
    func severalActivities() async throws {
        try await withWorld(policy: { $0.continueAfterHours = 2 }) { world in
            try await world.register("d1", token: "5a01")
            for (id, score) in [("final", Int64(0)), ("second", 7)] {
                try await world.start(id, to: World.devices("d1"), score: score)
                try await world.settle()
                try await world.follow("d1", token: "aa0\(score)", in: id, known: 1, generation: 1, card: id)
                try await world.settle()
            }
            _ = world.recorder.take()
            try await world.pass(7_201)
            try await watch(world)
            try await world.settle()
            let asked = world.recorder.take().sorted { $0.destination < $1.destination }
            #expect(asked.map(\.destination) == ["aa00", "aa07"])
            #expect(asked.map(\.score) == [0, 7])
        }
    }

    @Test("What is about to be sent has its place at once, so that no more leaves at a time than may")
    func places() async {
        let (counted, gate) = (CardWatcher.Counted(), Gate())
        await withDiscardingTaskGroup { group in
            for _ in 1...3 { counted.add(to: &group) { await gate.pass() } }
            #expect(counted.count == 3)
            gate.open()
        }
        #expect(counted.count == 0)
    }

    @Test("A token that does not come in time is reported once, and its card is caught up all the same when it comes")
    func overdueToken() async throws {
        try await withWorld(policy: { $0.tokenWaitSeconds = 100 }) { world in
            try await started(world, "d1", "d2")
            try await world.follow("d2", token: "aa02")
            try await world.pass(90)
            try await watch(world)
            #expect(try await overdue(world) == 0)
            try await world.pass(11)
            try await watch(world)
            try await world.pass(100)
            try await watch(world)
            #expect(try await overdue(world) == 1)
            #expect(try await world.word("SELECT device_id FROM events WHERE kind = 'token_wait_overdue'") == "d1")
            #expect(try await world.show().progress.waitingForToken == 1)
            try await world.update(score: 1)
            try await world.settle()
            _ = world.recorder.take()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }

    @Test("The app of a card without a token is woken once by a background push to its device")
    func wake() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1", "d2")
            try await world.follow("d2", token: "aa02")
            try await world.pass(29)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
            try await world.pass(2)
            try await watch(world)
            let push = try #require(world.recorder.take().first)
            #expect(push.destination == "de01")
            #expect(push.type == .background)
            #expect(push.topic == "com.example.app")
            #expect(push.priority == .five)
            #expect(push.aps == ["content-available": 1])
            #expect(push.body.object?["tally"]?.object?["activity_id"]?.string == "final")
            try await world.pass(1000)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("Nobody is woken by default, nor on a channel, nor without a device token")
    func notWoken() async throws {
        try await withWorld { world in
            try await started(world, "d1")
            try await world.pass(4000)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
        }
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await world.register("d1", token: "5a01", deviceToken: "de01")
            try await world.register("d2", token: "5a02")
            try await world.start("channel", to: World.devices("d1"), delivery: .channel)
            try await world.start("tokens", to: World.devices("d2"))
            try await world.settle()
            _ = world.recorder.take()
            try await world.pass(100)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A wake-up that certainly did not leave is tried again; a dead device token is forgotten, a newer one is not")
    func wakeAnswers() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1", "d2", "d3", "d4")
            world.recorder.answer("de01", with: .tooMany)
            world.recorder.answer("de02", with: .noAnswer)
            world.recorder.answer("de03", with: .unregistered(at: 4_102_444_800_000))
            world.recorder.answer("de04", with: .unregistered(at: 1_000_000_000_000))
            for _ in 1...4 {
                try await world.pass(31)
                try await watch(world)
            }
            let counts = (1...4).map { world.recorder.pushes(to: "de0\($0)").count }
            #expect(counts == [2, 1, 1, 1])
            let forgotten = try await world.word("SELECT device_id FROM devices WHERE device_token IS NULL")
            #expect(forgotten == "d3")
        }
    }

    @Test("An app whose device token is rejected is not woken for another card, until it reports the token again")
    func rejectedDeviceToken() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            func wakes(for id: String) async throws -> Int {
                try await world.start(id, to: World.devices("d1"))
                try await world.settle()
                try await world.pass(31)
                try await watch(world)
                return world.recorder.take().count { $0.destination == "de01" }
            }
            try await world.register("d1", token: "5a01", deviceToken: "de01")
            world.recorder.answer("de01", with: .badToken)
            #expect(try await wakes(for: "first") == 1)
            #expect(try await wakes(for: "second") == 0)
            try await world.register("d1", token: "5a01", deviceToken: "de01")
            #expect(try await wakes(for: "third") > 0)
        }
    }

    @Test("A daemon that dies with wake-ups in its hands leaves them to another, when its claim is over")
    func crash() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1")
            try await world.pass(31)
            let gate = world.recorder.close()
            let dying = Task { try await watch(world) }
            await gate.arrivals()
            let other = world.sibling()
            try await watch(other)
            #expect(world.recorder.take().count == 1)
            let end = Task {
                try await world.pass(16)
                return try await other.watchCards()
            }
            await gate.arrivals(2)
            #expect(world.recorder.take().map(\.destination) == ["de01"])
            // It is stopped, and still says what was answered.
            dying.cancel()
            world.recorder.open()
            _ = try? await dying.value  // what a cancelled task throws is not asked here
            _ = try await end.value
            try await world.pass(1000)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A wake-up that is stopped on its way counts as soon as it is answered")
    func shutdown() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1")
            try await world.pass(31)
            let gate = world.recorder.close()
            let stopped = Task { try await watch(world) }
            await gate.arrivals()
            stopped.cancel()
            world.recorder.open()
            _ = try? await stopped.value  // what a cancelled task throws is not asked here
            #expect(try await world.word("SELECT woken::text FROM subscriptions") == "true")
        }
    }

    @Test("A card is let go of while APNs does not answer to the wake-up of another")
    func slowAnswer() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1")
            try await world.follow("own", token: "cc01", known: 1)
            try await world.pass(31)
            let gate = world.recorder.close()
            let watcher = Task {
                async let looks: Void = world.orchestrator.deliveryStore.dueWork.run()
                await CardWatcher(room: world.orchestrator.delivery).run()
                await looks
            }
            await gate.arrivals()
            try await world.pass(28_800)
            defer {
                world.recorder.open()
                watcher.cancel()
            }
            try await eventually("the card is let go of") { try await world.subscription("own") == "over" }
            world.recorder.open()
            watcher.cancel()
            await watcher.value
        }
    }

    @Test("While sending is halted nobody is woken, and everybody is when it goes on")
    func halted() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1")
            try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 50, now() + interval '1 hour')
                """
            )
            try await world.pass(31)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
            try await world.database.execute("DELETE FROM sending_halts")
            try await world.pass(31)
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == ["de01"])
        }
    }

    @Test("Without a signing key nobody is woken, and everybody is when there is one")
    func noKey() async throws {
        try await withWorld(policy: { $0.wakeAfterSeconds = 30 }) { world in
            try await started(world, "d1")
            let key = try await world.database.query("DELETE FROM signing_keys RETURNING key_id, private_key_sealed")
                .first(as: (String, [UInt8]).self)
            let (id, sealed) = try #require(key)
            // Another daemon, which does not remember the key.
            let daemon = world.sibling()
            try await world.pass(31)
            try await watch(daemon)
            #expect(world.recorder.take().isEmpty)
            try await world.database.execute(
                """
                INSERT INTO signing_keys (bundle_id, environment, key_id, private_key_sealed)
                VALUES (\(world.app.rawValue), 'production', \(id), \(sealed))
                """
            )
            try await world.pass(31)
            try await watch(daemon)
            #expect(world.recorder.take().map(\.destination) == ["de01"])
        }
    }

    @Test(
        "Eight hours after its start a card is over: nothing is sent to it, and its late token does not bring it back"
    )
    func lifetime() async throws {
        try await withWorld { world in
            try await started(world, "d1", "d2")
            try await world.follow("d1", token: "aa01")
            try await world.follow("own", token: "cc01", known: 1)
            try await world.settle()
            try await world.pass(28_000)
            try await watch(world)
            try await world.update(score: 1)
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["aa01", "cc01"])
            try await world.follow("late", token: "cc02", known: 2)
            try await world.pass(801)
            try await watch(world)
            for device in ["d1", "d2", "own"] { #expect(try await world.subscription(device) == "over") }
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["cc02"])
            #expect(try await world.follow("d2", token: "aa02").state == .over)
            #expect(try await world.follow("d1", token: "aa01").state == .over)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().progress.destinations == 1)
        }
    }

    @Test("The eight hours of a card that is not looked after yet are over all the same")
    func lateLook() async throws {
        try await withWorld { world in
            try await started(world, "d1")
            try await world.pass(28_801)
            #expect(try await world.follow("d1", token: "aa01").state == .over)
        }
    }

    @Test(
        "The eight hours of a card whose start waited at APNs count from its report, or from when APNs gave the start up"
    )
    func lateStart() async throws {
        try await withWorld(policy: { $0.expiration.start = 25_200 }) { world in
            try await started(world, "d1", "d2")
            // Its phone comes back after six hours, the other one is opened after seven and a half.
            try await world.pass(21_600)
            #expect(try await world.follow("d1", token: "aa01").state != .over)
            try await world.pass(5_400)
            #expect(try await world.follow("d2", token: "aa02").state != .over)
            try await world.pass(20_000)
            try await watch(world)
            for device in ["d1", "d2"] { #expect(try await world.subscription(device) != "over") }
            try await world.pass(3_500)
            try await watch(world)
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.subscription("d2") != "over")
            try await world.pass(3_700)
            try await watch(world)
            #expect(try await world.subscription("d2") == "over")
        }
    }

    @Test(
        "A new card on a phone whose old one is over is served",
        arguments: ["another token", "another card", "said to be gone"]
    )
    func newCard(sign: String) async throws {
        try await withWorld { world in
            try await world.start()
            let final = ActivityID(stored: "final")
            func report(_ token: String, _ kit: String?) async throws -> SubscriptionAnswer {
                var request = SubscriptionRequest(.updateToken(try #require(PushToken(hex: token))))
                request.environment = .production
                request.activityKitID = kit
                return try await world.orchestrator.intake.subscribe(world.app, final, DeviceID(stored: "d1"), request)
            }
            switch sign {
            case "another token":
                _ = try await report("aa01", nil)
                try await world.settle()
                try await world.pass(28_801)
                try await watch(world)
                #expect(try await report("aa02", nil).state == .due)
            case "another card":
                _ = try await report("aa01", "A")
                try await world.settle()
                try await world.pass(20_000)
                #expect(try await report("aa02", "B").state == .due)
                try await world.pass(20_000)
                try await watch(world)
                #expect(try await report("aa02", "B").state != .over)
                #expect(try await report("aa03", "B").state == .due)
                try await world.pass(20_000)
                // A rotation is not a new card.
                #expect(try await report("aa04", "B").state == .over)
                return
            default:
                _ = try await report("aa01", nil)
                try await world.report("d1", .ended)
                try await world.pass(28_801)
                #expect(try await report("aa02", nil).state == .due)
            }
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa02").count == 1)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa02").count == 2)
        }
    }

    @Test("A card that the app starts itself, long after a push started one that nobody reported, is served")
    func cardAfterUnreported() async throws {
        try await withWorld { world in
            try await started(world, "d1", "d2")
            try await world.pass(28_801)
            // For one of them the daemon has looked at the old card before.
            #expect(try await world.follow("d2", token: "aa02", card: "B").state == .due)
            try await watch(world)
            #expect(try await world.follow("d1", token: "aa01", card: "A").state == .due)
            try await world.settle()
            _ = world.recorder.take()
            try await world.pass(20_000)
            try await watch(world)
            try await world.update(score: 1)
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["aa01", "aa02"])
            // Its own eight hours count from its report.
            try await world.pass(8_802)
            try await watch(world)
            for device in ["d1", "d2"] { #expect(try await world.subscription(device) == "over") }
        }
    }

    @Test("A card on a channel is over after its eight hours, too, and a dead token stays dead")
    func others() async throws {
        try await withWorld { world in
            try await world.start(delivery: .hybrid)
            try await world.settle()
            try await world.report("d1", .channel, known: 1)
            try await world.follow("d2", token: "aa02", known: 1)
            world.recorder.answer("aa02", with: .unregistered(at: nil))
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.subscription("d2") == "dead")
            try await world.pass(28_801)
            try await watch(world)
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.subscription("d2") == "dead")
            #expect(try await world.number("SELECT count(*) FROM subscriptions WHERE check_at IS NOT NULL") == 0)
        }
    }

    @Test("Several daemons look after every card once")
    func daemons() async throws {
        try await withWorld(policy: {
            $0.tokenWaitSeconds = 10; $0.wakeAfterSeconds = 10
        }) { world in
            try await started(world, "d1", "d2", "d3", "d4", "d5")
            try await world.pass(11)
            try await withThrowingTaskGroup { group in
                for _ in 1...4 {
                    let daemon = world.sibling()
                    group.addTask { _ = try await daemon.watchCards() }
                }
                try await group.waitForAll()
            }
            try await watch(world)
            #expect(try await overdue(world) == 5)
            #expect(world.recorder.take().map(\.destination).sorted() == (1...5).map { "de0\($0)" })
        }
    }
}
