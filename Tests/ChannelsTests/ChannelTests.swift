import APITypes
import APNSTransport
import ActivityModel
import Cryptography
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Channels
@testable import Orchestrator
@testable import Store

@Suite("Channels", .timeLimit(.minutes(2)))
struct ChannelTests {
    private static func key(body: UInt8 = 1) -> IdempotencyKey {
        IdempotencyKey(
            apiKeyID: "k",
            app: BundleID(stored: "com.example.app"),
            method: "POST",
            path: "/channels",
            key: "1",
            bodyHash: [body]
        )
    }

    @Test("An activity gets a channel of its own, its phones are started on it, and each change is one push")
    func life() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            let (answer, _) = try await world.start(to: World.devices("d1"), delivery: .channel)
            #expect(answer.channel?.state == .creating)
            try await world.settle()
            #expect(try await world.show().channel?.apnsChannelID == APNSChannelID(stored: "channel1"))
            let start = try #require(world.recorder.take().first)
            #expect(start.aps["input-push-channel"]?.string == "channel1")
            let accepted = try await world.update(score: 1, alert: "Messi")
            #expect(try await world.show().progress.pending == 1)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["channel1"])
            #expect(pushes.first?.score == 1)
            #expect(pushes.first?.alert == "Messi")
            #expect(pushes.first?.timestamp == accepted.timestamp)
            #expect(pushes.first?.priority == .ten)
            #expect(pushes.first?.expiration == (accepted.timestamp ?? 0) + 28800)
            #expect(try await world.show().progress.current == 1)
        }
    }

    @Test("On a channel that stores nothing the expiration is always 0")
    func storesNothing() async throws {
        try await withWorld(policy: { $0.channelStorage = .none }) { world in
            try await world.start(delivery: .channel)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.expiration) == [0])
        }
    }

    @Test("A channel that cannot be made is tried again, and starts wait for it at rest")
    func creationFails() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answerCreation(with: .failed(.unavailable), .failed(.noAnswer))
            try await world.start(to: World.devices("d1"), delivery: .channel)
            try await world.settle()
            #expect(try await world.word("SELECT reason FROM channels") == "503 ServiceUnavailable")
            #expect(try await world.isAtRest(.tokens))
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.word("SELECT state::text FROM channels") == "ready")
        }
    }

    @Test("Nobody has a state before its channel is made, and the verdict says what Apple answered")
    func refusedIsNotSent() async throws {
        try await withWorld { world in
            let refusal = PushOutcome(.requestInvalid, status: 400, reason: "BadRequest")
            world.recorder.answerCreation(with: .failed(refusal))
            try await world.start(delivery: .channel)
            #expect(try await world.explain().verdict.code == "pending")
            try await world.settle()
            #expect(try await world.show().progress == DeliveryProgress(destinations: 1, pending: 1))
            let verdict = try await world.explain().verdict
            #expect(verdict.code == "channel_missing")
            #expect(verdict.text.contains("400 BadRequest"))
            try await world.pass(31)
            try await world.settle()
            #expect(try await world.show().progress == DeliveryProgress(destinations: 1, current: 1))
            #expect(try await world.explain().verdict.code == "sent")
        }
    }

    @Test("An end before the channel was made is not said to have been accepted by APNs")
    func endedBeforeMade() async throws {
        try await withWorld { world in
            world.recorder.answerCreation(with: .failed(.unavailable))
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.end()
            try await world.pass(31)
            try await world.settle()
            #expect(try await world.show().channel == nil)
            #expect(try await world.show().progress == DeliveryProgress())
            #expect(try await world.explain().verdict.code == "nobody")
        }
    }

    @Test("A channel that is ready and was never used is taken; none serves two activities")
    func pool() async throws {
        try await withWorld { world in
            let made = try await world.orchestrator.createChannel(world.app, ChannelRequest(storage: .mostRecent))
                .answer
            let other = try await world.orchestrator.createChannel(world.app, ChannelRequest(storage: .none)).answer
            try await world.start("one", delivery: .channel)
            try await world.start("two", delivery: .channel)
            try await world.settle()
            let (one, two) = (try await world.show("one").channel, try await world.show("two").channel)
            #expect(one?.id == made.id)
            #expect(two?.id != made.id)
            #expect(two?.id != other.id)
            try await world.end("one")
            try await world.settle()
            try await world.start("three", delivery: .channel)
            try await world.settle()
            #expect(try await world.show("three").channel?.id != made.id)
            #expect(world.recorder.createdChannels == 4)
        }
    }

    @Test("A channel that two daemons made for one activity is kept for another, not forgotten")
    func madeTwice() async throws {
        try await withWorld { world in
            try await world.start("one", delivery: .channel)
            let gate = world.recorder.close()
            let slow = Task { try await world.settle() }
            await gate.arrivals()
            try await world.expireLeases()
            let other = world.sibling()
            let fast = Task { try await other.settle() }
            await gate.arrivals(2)
            world.recorder.open()
            try await slow.value
            try await fast.value
            #expect(try await world.number("SELECT count(*) FROM channels WHERE state = 'ready'") == 2)
            #expect(try await world.number("SELECT count(*) FROM channels WHERE activity_key IS NULL") == 1)
            try await world.start("two", delivery: .channel)
            try await world.settle()
            #expect(world.recorder.createdChannels == 2)
        }
    }

    @Test("Who joins the channel behind the newest broadcast gets it again, without an alert and under a newer stamp")
    func behind() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            let first = try #require(world.recorder.take().first)
            for number in 1...3 { try await world.report("d\(number)", .channel, known: 1) }
            try await world.report("d4", .channelID(APNSChannelID(stored: "channel1")), known: 2)
            #expect(try await world.subscription("d4") == "riding")
            try await world.pass(11)
            try await world.settle()
            let again = world.recorder.take()
            #expect(again.map(\.score) == [1])
            #expect(again.map(\.alert) == [nil])
            #expect(again.allSatisfy { $0.timestamp > first.timestamp })
            #expect(try await world.tables.cards().allSatisfy { $0.state != "due" })
        }
    }

    @Test("Another activity's channel is refused")
    func foreignChannel() async throws {
        try await withWorld { world in
            try await world.start("one", delivery: .channel)
            try await world.start("two", delivery: .channel)
            try await world.settle()
            let theirs = try #require(try await world.show("two").channel?.apnsChannelID)
            let refused = try await problem { try await world.report("d1", .channelID(theirs), in: "one") }
            #expect(refused?.status == 422)
            #expect(refused?.errors.map(\.pointer.description) == ["/channel_id"])
        }
    }

    @Test("A phone whose start was on its way while something newer was broadcast gets that again")
    func startBehind() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.register("d1", token: "5a01")
            _ = try await world.orchestrator.intake.changeAudience(
                world.app,
                ActivityID(stored: "final"),
                AudienceRequest(add: World.devices("d1"))
            )
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.update(score: 1)
            let other = world.sibling()
            async let broadcast: Void = other.settle()
            await gate.arrivals(2)
            world.recorder.open()
            _ = try await (walk, broadcast)
            try await world.pass(11)
            try await world.settle()
            #expect(world.recorder.pushes(to: "5a01").map(\.score) == [0])
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [1, 1])
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("A broadcast that failed is repeated with its alert, or with a newer state and its alert")
    func broadcastFails() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            world.recorder.answer("channel1", with: .unavailable, .noAnswer)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            try await world.hurry()
            try await world.settle()
            let same = world.recorder.take()
            #expect(Set(same.map(\.bytes)).count == 1)
            try await world.update(score: 2)
            try await world.pass(31)
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.score == 2)
            #expect(push.alert == "Messi")
        }
    }

    @Test("What is repeated for late subscribers tells no alert, and only other bytes take another stamp")
    func repeats() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            world.recorder.answer("channel1", with: .unavailable)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            // The alert of the first rides on the second.
            try await world.update(score: 2)
            try await world.pass(3)
            try await world.settle()
            for device in ["d1", "d2"] {
                try await world.report(device, .channel)
                try await world.pass(11)
                try await world.settle()
            }
            let pushes = world.recorder.take().suffix(3)
            #expect(pushes.map(\.score) == [2, 2, 2])
            #expect(pushes.map(\.alert) == ["Messi", nil, nil])
            #expect(pushes.map(\.priority) == [.ten, .five, .five])
            let stamps = pushes.map(\.timestamp)
            #expect(stamps[0] < stamps[1])
            #expect(stamps[1] == stamps[2])
        }
    }

    @Test("However many join late, one broadcast in ten seconds is repeated for them, and phones spend no budget on it")
    func manyJoin() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for second in 0..<30 {
                try await world.report("d\(second)", .channel, known: 0)
                try await world.pass(1)
                try await world.settle()
            }
            try await world.pass(11)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect((3...4).contains(pushes.count))
            #expect(Set(pushes.map(\.priority)) == [.five])
            #expect(try await world.tables.cards().allSatisfy { $0.state != "due" })
        }
    }

    @Test("A clock that was set back by an hour keeps nobody who joins late waiting for it")
    func joinAfterClockSetBack() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
            try await world.tables.setClockBack(3600)
            try await world.report("late", .channel, known: 1)
            try await world.pass(11)
            try await world.settle()
            try await world.pass(11)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }

    @Test("The end is repeated with the priority of an end for who reports after it")
    func endRepeats() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.end()
            try await world.settle()
            try await world.report("d1", .channel, known: 1)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            try await world.pass(6)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.map(\.priority) == [.ten])
        }
    }

    @Test(
        "The end is broadcast, and the channel is deleted after its grace time",
        arguments: [
            (ChannelStorage.mostRecent, 8 * 3600 as Int64), (.none, 300),
        ]
    )
    func deletion(storage: ChannelStorage, grace: Int64) async throws {
        try await withWorld(policy: { $0.channelStorage = storage }) { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            let sweeper = ChannelSweeper(room: world.orchestrator.channelRoom)
            try await world.pass(grace - 60)
            try await sweeper.deleteDue()
            #expect(world.recorder.deletedChannels.isEmpty)
            try await world.pass(61)
            world.recorder.answerDeletion(with: .failed(.unavailable), .alreadyGone)
            try await sweeper.deleteDue()
            #expect(try await world.word("SELECT state::text FROM channels") == "deleting")
            try await world.pass(11)
            try await sweeper.deleteDue()
            try await world.pass(1000)
            try await sweeper.deleteDue()
            #expect(world.recorder.deletedChannels.map(\.rawValue) == ["channel1", "channel1"])
            #expect(try await world.show().channel?.state == .deleted)
            // A phone that comes now cannot be helped, and keeps nobody busy.
            try await world.report("d1", .channel)
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.subscription("d1") == "over")
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test(
        "When Apple does not answer to one deletion, the app's others wait with it, and no daemon takes them meanwhile"
    )
    func unansweredDeletion() async throws {
        try await withWorld(policy: { $0.channelStorage = .none }) { world in
            for id in ["one", "two", "three"] {
                try await world.start(id, delivery: .channel)
                try await world.settle()
                try await world.end(id)
                try await world.settle()
            }
            try await world.pass(301)
            let sweeper = ChannelSweeper(room: world.orchestrator.channelRoom)
            world.recorder.answerDeletion(with: .failed(.noAnswer))
            try await sweeper.deleteDue()
            try await sweeper.deleteDue()
            #expect(world.recorder.deletedChannels.count == 1)
            try await world.pass(11)
            try await sweeper.deleteDue()
            #expect(world.recorder.deletedChannels.count == 4)
            #expect(try await world.number("SELECT count(*) FROM channels WHERE state = 'deleted'") == 3)
        }
    }

    @Test("However many channels of an app are due, one deletion that Apple does not answer to puts them all off")
    func backlog() async throws {
        try await withWorld { world in
            var app = AppRequest.production(key: nil)
            app.environments[.sandbox] = SigningKeyRequest(
                keyID: KeyID(stored: "SAND123456"),
                privateKey: try P256PrivateKey.generate().pem()
            )
            _ = try await world.orchestrator.putApp(world.app, app)
            try await world.database.execute(
                """
                INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id, ready_at, delete_at)
                SELECT \(world.app.rawValue), environment, 'none', 'ready', environment || '-' || n, now(),
                       now() - CASE environment WHEN 'production' THEN interval '2 hours' ELSE interval '1 hour' END
                FROM generate_series(1, 45) AS n, unnest(enum_range(NULL::apns_environment)) AS environment
                """
            )
            let sweeper = ChannelSweeper(room: world.orchestrator.channelRoom)
            world.recorder.answerDeletion(with: .failed(.noAnswer))
            for _ in 1...4 { try await sweeper.deleteDue() }
            let deleted = world.recorder.deletedChannels.map(\.rawValue)
            #expect(deleted.filter { $0.hasPrefix("production") }.count == 1)
            #expect(deleted.filter { $0.hasPrefix("sandbox") }.count == 45, "the other environment is not held up")
            try await world.pass(11)
            for _ in 1...3 { try await sweeper.deleteDue() }
            #expect(try await world.number("SELECT count(*) FROM channels WHERE state = 'deleted'") == 90)
        }
    }

    @Test("An activity that ends before its channel was made leaves none behind")
    func endsBeforeCreation() async throws {
        try await withWorld { world in
            world.recorder.answerCreation(with: .failed(.unavailable))
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.end()
            try await world.pass(31)
            try await world.settle()
            #expect(world.recorder.createdChannels == 0)
            #expect(try await world.show().channel == nil)
            // Nobody knows whether Apple has made it nevertheless, so it is looked after.
            #expect(try await world.number("SELECT count(*) FROM channel_sweeps") == 1)
            try await world.orchestrator.deleteApp(world.app)
        }
    }

    @Test("A channel in use is not deleted; one that was never used is")
    func deletionByHand() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            let used = try #require(try await world.show().channel?.id)
            let refused = try await problem { try await world.orchestrator.deleteChannel(world.app, used) }
            #expect(refused?.code == "channel_in_use")
            let unused = try await world.orchestrator.createChannel(world.app, ChannelRequest(storage: .mostRecent))
                .answer
            try await world.orchestrator.deleteChannel(world.app, unused.id)
            #expect(try await world.orchestrator.channel(world.app, unused.id).state == .deleted)
            try await world.end()
            try await world.settle()
            try await world.orchestrator.deleteChannel(world.app, used)
            try await world.orchestrator.deleteApp(world.app)
        }
    }

    @Test(
        "A channel is made once under an Idempotency-Key, whoever asks again, and whatever another body says is refused"
    )
    func idempotency() async throws {
        try await withWorld { world in
            let key = Self.key()
            let request = ChannelRequest(storage: .mostRecent)
            let gate = world.recorder.close()
            let first = Task { try await world.orchestrator.createChannel(world.app, request, idempotency: key) }
            await gate.arrivals()
            let running = try await problem {
                _ = try await world.sibling().orchestrator.createChannel(world.app, request, idempotency: key)
            }
            #expect(running?.code == "idempotency_in_progress")
            world.recorder.open()
            let made = try await first.value
            let again = try await world.sibling().orchestrator.createChannel(world.app, request, idempotency: key)
            #expect(again.answer == made.answer)
            #expect(again.isReplay && !made.isReplay)
            #expect(world.recorder.createdChannels == 1)
            let other = Self.key(body: 2)
            let reused = try await problem {
                _ = try await world.orchestrator.createChannel(world.app, request, idempotency: other)
            }
            #expect(reused?.code == "idempotency_key_reused")
        }
    }

    @Test("A refusal is not kept: the next request under the same key asks Apple again")
    func idempotencyOfRefusal() async throws {
        try await withWorld { world in
            let key = Self.key()
            world.recorder.answerCreation(with: .failed(.unavailable))
            let refused = try await problem {
                _ = try await world.orchestrator.createChannel(world.app, ChannelRequest(), idempotency: key)
            }
            #expect(refused?.status == 503)
            _ = try await world.orchestrator.createChannel(world.app, ChannelRequest(), idempotency: key)
            #expect(world.recorder.createdChannels == 1)
        }
    }

    @Test(
        "Who makes or deletes a channel is told whether Apple may have done it; a look leaves nothing open",
        arguments: [(.unavailable, "unavailable"), (.notSent, "unavailable"), (.noAnswer, "outcome_unknown")]
            as [(PushOutcome, String)]
    )
    func openOutcome(answer: PushOutcome, code: String) async throws {
        try await withWorld { world in
            world.recorder.answerCreation(with: .failed(answer))
            let making = try await problem {
                _ = try await world.orchestrator.createChannel(world.app, ChannelRequest())
            }
            #expect(making?.code == code)
            let channel = try await world.orchestrator.createChannel(world.app, ChannelRequest()).answer
            world.recorder.answerDeletion(with: .failed(answer))
            let deleting = try await problem { try await world.orchestrator.deleteChannel(world.app, channel.id) }
            #expect(deleting?.code == code)
            world.recorder.answerList(with: .failed(answer))
            let looking = try await problem {
                _ = try await world.orchestrator.reconcileChannels(world.app, ReconcileRequest())
            }
            #expect(looking?.code == "unavailable")
        }
    }
}
