import APITypes
import APNSTransport
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import TestSupport
import Testing

@testable import Delivery
@testable import Orchestrator
@testable import Store

@Suite("Hybrid audiences", .timeLimit(.minutes(2)))
struct HybridTests {
    /// iOS 18, 17.2, 17.0 and unknown, each started in its way.
    private func start(in world: World) async throws {
        try await world.register("new", token: "5a18", os: "18.0")
        try await world.register("older", token: "5a17", os: "17.2")
        try await world.register("oldest", token: "5a16", os: "17.0")
        try await world.register("unknown", token: "5a00", os: nil)
        try await world.start(to: World.devices("new", "older", "oldest", "unknown"), delivery: .hybrid)
        try await world.settle()
    }

    @Test("Phones with iOS 18 are started on the channel, older ones by token, and those before 17.2 not at all")
    func starts() async throws {
        try await withWorld { world in
            try await start(in: world)
            #expect(world.recorder.pushes(to: "5a18").map { $0.aps["input-push-channel"]?.string } == ["channel1"])
            for token in ["5a17", "5a00"] {
                let push = try #require(world.recorder.pushes(to: token).first)
                #expect(push.aps["input-push-channel"] == nil && push.aps["input-push-token"] == nil)
            }
            #expect(world.recorder.pushes(to: "5a16").isEmpty)
            #expect(try await world.startState("oldest") == "withheld")
            #expect(try await world.tables.card(of: "new")?.mode == "channel")
            #expect(try await world.tables.card(of: "older")?.mode == "token")
        }
    }

    @Test("One change goes to the channel once and to the token of each phone that is not on it")
    func change() async throws {
        try await withWorld { world in
            try await start(in: world)
            try await world.follow("older", token: "7a17")
            try await world.settle()
            _ = world.recorder.take()
            let accepted = try await world.update(score: 1, alert: "Messi")
            #expect(try await world.show().progress.pending == 2)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == ["7a17", "channel1"])
            #expect(Set(pushes.map(\.timestamp)) == [accepted.timestamp])
            #expect(pushes.map(\.alert) == ["Messi", "Messi"])
            let progress = try await world.show().progress
            #expect(progress.destinations == 2)
            #expect(progress.current == 2)
            #expect(progress.waitingForToken == 1)
            try await world.end(score: 3)
            try await world.settle()
            let ends = world.recorder.take()
            #expect(ends.map(\.destination).sorted() == ["7a17", "channel1"])
            #expect(ends.map(\.event) == ["end", "end"])
        }
    }

    @Test("A phone is in one mode at a time: the report of the latest generation says in which")
    func switching() async throws {
        try await withWorld { world in
            try await start(in: world)
            try await world.report("new", .channel, known: 1, generation: 1)
            try await world.follow("new", token: "7a18", known: 1, generation: 3)
            try await world.settle()
            #expect(try await world.tables.card(of: "new")?.mode == "token")
            // A report from before the switch comes late.
            try await world.report("new", .channel, known: 1, generation: 2)
            #expect(try await world.tables.card(of: "new")?.mode == "token")
            _ = world.recorder.take()
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.pushes(to: "7a18").map(\.score) == [1])
            try await world.report("new", .channel, known: 2, generation: 4)
            #expect(try await world.tables.card(of: "new")?.mode == "channel")
            _ = world.recorder.take()
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.pushes(to: "7a18").isEmpty)
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [2])
            try await world.follow("new", token: "7a18", known: 3, generation: 3)
            #expect(try await world.tables.card(of: "new")?.mode == "channel")
        }
    }

    @Test("A phone that changes its mode behind the newest change gets that in the new mode")
    func switchingBehind() async throws {
        try await withWorld { world in
            try await start(in: world)
            try await world.update(score: 1)
            try await world.settle()
            _ = world.recorder.take()
            try await world.follow("new", token: "7a18", known: 1, generation: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["7a18"])
            try await world.report("older", .channel, known: 1)
            try await world.pass(11)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["channel1"])
        }
    }

    @Test("Late joiners of both kinds are started and brought up to date")
    func lateJoiners() async throws {
        try await withWorld { world in
            try await world.start(to: Audience(allOfType: true), delivery: .hybrid)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            _ = world.recorder.take()
            try await world.register("new", token: "5a18", os: "18.3")
            try await world.register("older", token: "5a17", os: "17.4")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1, 1])
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["channel1"])
            try await world.follow("older", token: "7a17")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test("A must-deliver change is delivered in both ways before anything newer")
    func barrier() async throws {
        try await withWorld { world in
            try await start(in: world)
            try await world.follow("older", token: "7a17")
            try await world.settle()
            _ = world.recorder.take()
            try await world.update(score: 1, alert: "Messi", mustDeliver: true)
            try await world.update(score: 2)
            try await world.settle()
            for destination in ["7a17", "channel1"] {
                #expect(world.recorder.pushes(to: destination).map(\.score) == [1, 2])
                #expect(world.recorder.pushes(to: destination).map(\.alert) == ["Messi", nil])
            }
        }
    }

    /// Sends on one way until that rests.
    private func work(_ way: EngineTables.Way, in world: World) async throws {
        try await world.tables.hold(way == .channel ? .tokens : .channel)
        for lease in try await world.orchestrator.deliveryStore.segments.claim(limit: 1) {
            #expect((lease.segment == SegmentRows.channelSegment) == (way == .channel))
            try await SegmentWorker(room: world.orchestrator.delivery, slot: nil, lease: lease).work()
        }
    }

    @Test("A change is merged when the ring and the channel have both jumped over it, unless one has sent it")
    func merges() async throws {
        try await withWorld { world in
            try await start(in: world)
            try await world.follow("older", token: "7a17")
            try await world.settle()
            let merged: Query =
                "SELECT string_agg(revision || ' into ' || merged_into, ', ' ORDER BY revision) FROM changes"
            try await world.update(score: 1)
            try await world.update(score: 2)
            try await work(.channel, in: world)
            // The ring may still come to it.
            #expect(try await world.word(merged) == nil)
            try await world.tables.setWork(dueIn: 0)
            try await work(.tokens, in: world)
            #expect(try await world.word(merged) == "2 into 3")
            // The channel alone sends 4, the ring alone 5; over 6 both jump. Stamps are not to run ahead of the clock.
            try await world.pass(10)
            try await world.update(score: 3)
            try await work(.channel, in: world)
            try await world.update(score: 4)
            try await work(.tokens, in: world)
            try await world.pass(10)
            try await world.update(score: 5)
            try await world.update(score: 6)
            try await world.settle()
            #expect(try await world.word(merged) == "2 into 3, 6 into 7")
            let told = try await world.events(.changesMerged).map(\.detail)
            #expect(
                told == [
                    ["into": 3, "revisions": [2], "count": 1], ["into": 7, "revisions": [6], "count": 1],
                ]
            )
        }
    }

    @Test("A change that the ring has passed without a push is merged when the channel jumps over it")
    func mergesPassed() async throws {
        try await withWorld { world in
            try await start(in: world)
            try await world.follow("older", token: "7a17")
            try await world.settle()
            try await world.update(score: 1)
            // As if nobody had been left on the ring when its worker came.
            try await world.tables.skipTokens(through: 2)
            try await world.update(score: 2)
            try await work(.channel, in: world)
            #expect(try await world.number("SELECT merged_into FROM changes WHERE revision = 2") == 3)
        }
    }

    @Test(
        "If Apple refuses the channel for half a minute, everyone is started by token; one that comes later serves the rest"
    )
    func withoutChannel() async throws {
        try await withWorld { world in
            let missing = PushOutcome(.credential, status: 400, reason: "BroadcastFeatureNotEnabled")
            world.recorder.answerCreation(with: .failed(missing), .failed(missing))
            try await world.register("new", token: "5a18", os: "18.0")
            try await world.register("older", token: "5a17", os: "17.2")
            try await world.start(to: World.devices("new", "older"), delivery: .hybrid)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().progress.pending == 1)
            try await world.pass(31)
            try await world.settle()
            // Nobody waits for the channel any more.
            #expect(try await world.show().progress.pending == 0)
            #expect(world.recorder.pushes(to: "5a18").first?.aps["input-push-token"]?.int64 == 1)
            #expect(world.recorder.pushes(to: "5a17").count == 1)
            #expect(try await world.tables.card(of: "new")?.mode == "token")
            let events = try await world.events(.channelRefused)
            #expect(events.map(\.detail["reason"]) == ["400 BroadcastFeatureNotEnabled"])
            try await world.pass(31)
            try await world.settle()
            #expect(try await world.show().channel?.state == .ready)
            #expect(try await world.show().progress.current == 1)
        }
    }
}
