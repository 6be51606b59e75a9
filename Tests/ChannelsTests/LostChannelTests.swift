import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import TestSupport
import Testing

@testable import Channels
@testable import Orchestrator
@testable import Store

@Suite("Channels that Apple knows no more", .timeLimit(.minutes(2)))
struct LostChannelTests {
    @Test("A broadcast to a channel that is gone makes another one, and the change goes there with its alert")
    func replaced() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.report("d1", .channel, known: 1)
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["channel1", "channel2"])
            #expect(try await world.show().channel?.apnsChannelID?.rawValue == "channel2")
            #expect(try await world.show().progress.current == 1)
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.tables.cards().map(\.reason) == ["channel_lost"])
            let lost = try await world.orchestrator.channels(world.app, PageRequest()).items.last
            #expect(lost?.state == .lost)
            #expect(lost?.lostAt != nil)
            #expect(lost?.reason == "400 ChannelNotRegistered")
        }
    }

    @Test("The verdict says that the cards of a lost channel hear nothing, also after others have joined the new one")
    func verdict() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.report("d1", .channel, known: 1)
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1)
            try await world.settle()
            let verdict = try await world.explain().verdict
            #expect(verdict.code == "channel_gone")
            #expect(verdict.text.contains("hear nothing any more"))
            try await world.report("d2", .channel, known: 2)
            let joined = try await world.explain().verdict
            #expect(joined.code == "sent")
            #expect(joined.text.contains("Apple has lost an earlier channel"))
        }
    }

    @Test("The alert of the change is on the broadcast that arrives")
    func alert() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel2").map(\.alert) == ["Messi"])
        }
    }

    @Test("A channel that was made a moment ago is believed in: Apple's hosts need not agree yet")
    func young() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            world.recorder.answer("channel1", with: .channelNotRegistered)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.show().channel?.state == .ready)
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [1, 1])
            #expect(world.recorder.createdChannels == 1)
        }
    }

    @Test("A channel that Apple denies in a broadcast and shows when asked is tried again")
    func contradiction() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.pass(120)
            world.recorder.answer("channel1", with: .channelNotRegistered)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.show().channel?.state == .ready)
            try await world.hurry()
            try await world.settle()
            #expect(try await world.show().progress.current == 1)
            #expect(world.recorder.createdChannels == 1)
        }
    }

    @Test("If it is gone when the end is broadcast, there is nobody left to tell, and no channel is made for that")
    func end() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.end()
            try await world.settle()
            #expect(try await world.show().channel?.state == .lost)
            #expect(world.recorder.createdChannels == 1)
            #expect(try await world.isAtRest())
            try await world.orchestrator.deleteApp(world.app)
        }
    }

    @Test("Who had the end before the channel was lost misses nothing, and the verdict says so")
    func lostAfterEnd() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.report("d1", .channel, known: 1)
            try await world.end()
            try await world.settle()
            #expect(try await world.explain().verdict.code == "sent")
            try await world.database.execute(
                "UPDATE channels SET state = 'lost', lost_at = now(), delete_at = NULL, ended_through = 0"
            )
            try await ChannelSweeper(room: world.orchestrator.channelRoom).endLostCards()
            #expect(try await world.subscription("d1") == "over")
            let verdict = try await world.explain().verdict
            #expect(verdict.code == "sent")
            #expect(verdict.text.contains("Apple has lost the activity's channel"))
        }
    }

    @Test("The channel that takes its place is taken from the pool if there is one")
    func fromPool() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            _ = try await world.orchestrator.createChannel(world.app, ChannelRequest())
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.createdChannels == 2)
            #expect(world.recorder.take().map(\.destination) == ["channel1", "channel2"])
        }
    }

    private static let stretches = OrchestratorSettings { $0.stretchSize = 2 }

    @Test("Cards of a lost channel end a batch at a time, but for those that have come to the new one meanwhile")
    func batches() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...5 { try await world.report("d\(number)", .channel, known: 1) }
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1)
            try await world.settle()
            func over() async throws -> Int {
                try await world.tables.cards().count { $0.state == "over" && $0.reason == "channel_lost" }
            }
            #expect(try await over() == 2)
            #expect(try await world.events(.channelLost).first?.detail["subscribers"] == 5)
            #expect(world.recorder.pushes(to: "channel2").map(\.score) == [1], "it waits for no card")

            try await world.report("d5", .channel, known: 1)
            let sibling = world.sibling(settings: Self.stretches)
            try await ChannelSweeper(room: sibling.orchestrator.channelRoom).endLostCards()
            #expect(try await over() == 4)
            #expect(try await world.subscription("d5") == "due")
            #expect(try await world.number("SELECT count(*) FROM channels WHERE ended_through IS NOT NULL") == 0)
        }
    }

    @Test("All who are owed a broadcast on a channel that was deleted are given up, a part a turn")
    func owedByADeletedChannel() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...5 { try await world.report("d\(number)", .channel, known: 0) }
            _ = world.recorder.take()
            try await world.database.execute("UPDATE channels SET state = 'deleted', deleted_at = now()")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            let cards = try await world.tables.cards()
            #expect(cards.count { $0.state == "over" && $0.reason == "channel_deleted" } == 5)
        }
    }

    @Test("A crowd of late joiners has all of a broadcast, and none is repeated for them")
    func crowd() async throws {
        try await withWorld(settings: Self.stretches) { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...7 { try await world.report("d\(number)", .channel, known: 0) }
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.tables.cards().count { $0.state == "riding" } == 7)
            try await world.pass(60)
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [1])
        }
    }
}
