import APITypes
import APNSTransport
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Testing

@testable import Channels
@testable import Orchestrator
@testable import Store

extension World {
    /// Compares with Apple's list, as an operator asks for it.
    fileprivate func reconcile(dryRun: Bool = false, _ key: IdempotencyKey? = nil) async throws -> ChannelReport {
        try await orchestrator.reconcileChannels(app, ReconcileRequest(dryRun: dryRun), idempotency: key).answer
    }

    fileprivate func declareExclusive() async throws {
        try await database.execute("UPDATE apps SET channels_exclusive = true")
    }
}

@Suite("Reconciling channels", .timeLimit(.minutes(2)))
struct ChannelReconcileTests {
    @Test("Where Tally and Apple agree there is nothing to find, and the quota's use is told")
    func agreement() async throws {
        try await withWorld { world in
            try await world.start("one", delivery: .channel)
            try await world.settle()
            _ = try await world.orchestrator.createChannel(world.app, ChannelRequest())
            try await world.pass(120)
            let expected = ChannelReport(
                environment: .production,
                dryRun: false,
                atApple: 2,
                known: 2,
                unused: 1,
                creating: 0
            )
            #expect(try await world.reconcile() == expected)
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == 2)
        }
    }

    @Test("A dry run says what would happen, and changes nothing, here or at Apple")
    func dryRun() async throws {
        try await withWorld { world in
            try await world.declareExclusive()
            try await world.start("one", delivery: .channel)
            try await world.settle()
            world.recorder.addChannel("old")
            _ = try await world.reconcile()
            try await world.pass(90_000)
            world.recorder.loseChannel("channel1")
            world.recorder.addChannel("new")
            let report = try await world.reconcile(dryRun: true)
            #expect(report.findings.map(\.kind) == [.lost, .unknown, .unknown])
            #expect(report.findings.map(\.action) == [.replace, .delete, .keep])
            #expect(report.findings.map(\.isDone) == [false, false, false])
            #expect(report.findings.map(\.apnsChannelID.rawValue) == ["channel1", "old", "new"])
            #expect(world.recorder.channels == ["old", "new"])
            #expect(try await world.show("one").channel?.state == .ready)
            #expect(try await world.word("SELECT string_agg(apns_channel_id, ',') FROM unknown_channels") == "old")
            #expect(try await world.events(.channelLost).isEmpty)
        }
    }

    @Test("With a known key the answer is the one of before, and nothing is looked at; a dry run keeps none")
    func onceByKey() async throws {
        func key(body: UInt8 = 1) -> IdempotencyKey {
            IdempotencyKey(
                apiKeyID: "k1",
                app: BundleID(stored: "com.example.app"),
                method: "POST",
                path: "/reconcile",
                key: "a",
                bodyHash: [body]
            )
        }
        try await withWorld { world in
            world.recorder.addChannel("one")
            #expect(try await world.reconcile(dryRun: true, key(body: 2)).atApple == 1)
            let first = try await world.reconcile(key())
            world.recorder.addChannel("two")
            #expect(try await world.reconcile(key()) == first)
            #expect(try await world.word("SELECT string_agg(apns_channel_id, ',') FROM unknown_channels") == "one")
            #expect(try await problem { _ = try await world.reconcile(key(body: 2)) }?.code == "idempotency_key_reused")
            #expect(try await world.reconcile().atApple == 2)
        }
    }

    @Test("An unknown channel is reported, and stays, however long it is there")
    func unknown() async throws {
        try await withWorld { world in
            world.recorder.addChannel("theirs")
            let report = try await world.reconcile()
            #expect(report.atApple == 1 && report.known == 0)
            #expect(report.findings.map(\.kind) == [.unknown])
            #expect(report.findings.first?.deleteAt == nil)
            // It may be one of ours that is being made at this moment.
            try await world.pass(10)
            _ = try await world.reconcile()
            #expect(try await world.events(.channelUnknown).isEmpty)
            try await world.pass(30 * 86_400)
            let later = try await world.reconcile()
            #expect(later.findings.map(\.action) == [.keep])
            #expect(world.recorder.deletedChannels.isEmpty)
            try await world.pass(3_600)
            _ = try await world.reconcile()
            let events = try await world.events(.channelUnknown)
            #expect(events.count == 1)
            #expect(events.first?.detail["apns_channel_ids"] == ["theirs"])
            world.recorder.loseChannel("theirs")
            #expect(try await world.reconcile().findings.isEmpty)
            #expect(try await world.number("SELECT count(*) FROM unknown_channels") == 0)
        }
    }

    @Test(
        "A channel whose creation was not answered is found, and deleted in an exclusive app after 24 h of being seen"
    )
    func lostAnswer() async throws {
        try await withWorld { world in
            try await world.declareExclusive()
            world.recorder.answerCreation(with: .failed(.noAnswer))
            try await world.start("one", delivery: .channel)
            try await world.settle()
            world.recorder.addChannel("leaked")
            try await world.pass(31)
            try await world.settle()
            #expect(try await world.show("one").channel?.apnsChannelID?.rawValue == "channel1")
            #expect(try await world.reconcile().findings.map(\.apnsChannelID.rawValue) == ["leaked"])
            try await world.pass(86_000)
            #expect(try await world.reconcile().findings.map(\.isDone) == [false])
            try await world.pass(500)
            world.recorder.answerDeletion(with: .failed(.unavailable))
            #expect(try await world.reconcile().findings.map(\.reason) == ["503 ServiceUnavailable"])
            let report = try await world.reconcile()
            #expect(report.findings.map(\.isDone) == [true])
            #expect(world.recorder.channels == ["channel1"])
            #expect(try await world.reconcile().findings.isEmpty)
            #expect(try await world.events(.channelReclaimed).count == 1)
        }
    }

    @Test("A channel that is gone at Apple is replaced while its activity goes on; who listened to it is given up")
    func lost() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"), delivery: .channel)
            try await world.settle()
            try await world.report("d2", .channel, known: 1)
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            let report = try await world.reconcile()
            #expect(report.findings.map(\.action) == [.replace])
            #expect(report.findings.map(\.isDone) == [true])
            try await world.settle()
            let channel = try #require(try await world.show().channel)
            #expect(channel.state == .ready)
            #expect(channel.apnsChannelID?.rawValue == "channel2")
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.subscription("d2") == "over")
            let event = try #require(try await world.events(.channelLost).first)
            #expect(event.activity?.rawValue == "final")
            #expect(event.detail["subscribers"] == 2)
            #expect(event.detail["replaced"] == true)
            // Who comes from now on, and who joins again, is served by the new one.
            try await world.register("d3", token: "5a03")
            _ = try await world.orchestrator.intake.changeAudience(
                world.app,
                ActivityID(stored: "final"),
                AudienceRequest(add: World.devices("d3"))
            )
            try await world.settle()
            #expect(world.recorder.pushes(to: "5a03").first?.aps["input-push-channel"]?.string == "channel2")
            #expect(world.recorder.pushes(to: "5a01").count == 1)
            try await world.report("d2", .channelID(APNSChannelID(stored: "channel2")), known: 1)
            _ = world.recorder.take()
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["channel2"])
            let refused = try await problem {
                try await world.report("d1", .channelID(APNSChannelID(stored: "channel1")))
            }
            #expect(refused?.status == 422)
        }
    }

    @Test("Apple is asked for the channel itself before it counts as lost: the list may lag behind")
    func laggingList() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.pass(120)
            world.recorder.answerList(with: .listed([]), .listed([]))
            let report = try await world.reconcile()
            #expect(report.findings.map(\.isDone) == [false])
            #expect(report.findings.first?.reason?.contains("Apple has it") == true)
            world.recorder.answerReading(with: .failed(.unavailable))
            #expect(try await world.reconcile().findings.first?.reason == "503 ServiceUnavailable")
            #expect(try await world.show().channel?.apnsChannelID?.rawValue == "channel1")
        }
    }

    @Test("A channel that was made while Apple's list was on its way is neither lost nor unknown")
    func madeMeanwhile() async throws {
        try await withWorld { world in
            let gate = world.recorder.close()
            let reconcile = Task { try await world.reconcile() }
            await gate.arrivals()
            let made = Task { try await world.orchestrator.createChannel(world.app, ChannelRequest()) }
            await gate.arrivals(2)
            world.recorder.open()
            _ = try await made.value
            #expect(try await reconcile.value.findings.isEmpty)
            #expect(try await world.reconcile().findings.isEmpty)
        }
    }

    @Test("A deleted channel that Apple still has is deleted once more; one that is gone by itself counts as deleted")
    func undeletedAndGone() async throws {
        try await withWorld { world in
            let first = try await world.orchestrator.createChannel(world.app, ChannelRequest()).answer
            try await world.orchestrator.deleteChannel(world.app, first.id)
            world.recorder.addChannel("channel1")
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.end()
            try await world.settle()
            world.recorder.loseChannel("channel2")
            try await world.pass(120)
            let report = try await world.reconcile()
            #expect(report.findings.map(\.kind) == [.undeleted, .gone])
            #expect(report.findings.map(\.isDone) == [true, true])
            #expect(world.recorder.channels.isEmpty)
            #expect(try await world.number("SELECT count(*) FROM channels WHERE state = 'deleted'") == 2)
            try await world.orchestrator.deleteApp(world.app)
        }
    }

    @Test("If Apple does not say which channels there are, nothing is concluded")
    func listFails() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.pass(120)
            let missing = PushOutcome(.credential, status: 400, reason: "BroadcastFeatureNotEnabled")
            world.recorder.answerList(with: .failed(missing), .failed(.unavailable))
            let refused = try await problem { _ = try await world.reconcile() }
            #expect(refused?.status == 502)
            #expect(refused?.detail.contains("BroadcastFeatureNotEnabled") == true)
            #expect(try await problem { _ = try await world.reconcile() }?.status == 503)
            #expect(try await world.show().channel?.state == .ready)
        }
    }

    @Test("One sweeper at a time works on an app's environment, a dry run apart")
    func oneSweeper() async throws {
        try await withWorld { world in
            let gate = world.recorder.close()
            let first = Task { try await world.reconcile() }
            await gate.arrivals()
            let second = try await problem { _ = try await world.sibling().reconcile() }
            #expect(second?.code == "sweep_in_progress")
            let look = Task { try await world.sibling().reconcile(dryRun: true) }
            await gate.arrivals(2)
            world.recorder.open()
            _ = try await (first.value, look.value)
            _ = try await world.sibling().reconcile()
        }
    }

    @Test("A sweeper that was paused past its lease touches nothing more at Apple")
    func leaseLost() async throws {
        try await withWorld { world in
            try await world.declareExclusive()
            world.recorder.addChannel("leaked")
            _ = try await world.reconcile()
            try await world.pass(90_000)
            let gate = world.recorder.close()
            let paused = Task { try await problem { _ = try await world.reconcile() } }
            await gate.arrivals()
            try await world.database.execute("UPDATE channel_sweeps SET lease_until = now() - interval '1 second'")
            world.recorder.open()
            #expect(try await paused.value?.code == "sweep_in_progress")
            #expect(world.recorder.channels == ["leaked"])
        }
    }

    @Test(
        "The service compares by itself every hour, tells when the quota runs low, and leaves apps without channels alone"
    )
    func service() async throws {
        try await withWorld { world in
            let sweeper = ChannelSweeper(room: world.orchestrator.channelRoom)
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT count(*) FROM channel_sweeps") == 0)
            try await world.start(delivery: .channel)
            try await world.settle()
            world.recorder.answerList(with: .failed(.unavailable))
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == nil)
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == nil)
            try await world.pass(11)
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == 1)
            world.recorder.answerList(with: .listed((0..<9_000).map { APNSChannelID(stored: "theirs\($0)") }))
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == 1)
            try await world.pass(3_601)
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == 9_000)
            #expect(try await world.events(.channelQuotaLow).count == 1)
            try await world.pass(3_601)
            try await sweeper.sweepDue()
            #expect(try await world.number("SELECT at_apple::int8 FROM channel_sweeps") == 1)
        }
    }
}
