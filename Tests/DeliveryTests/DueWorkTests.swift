import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import ServiceLifecycle
import TestSupport
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("Which work is due", .timeLimit(.minutes(2)))
struct DueWorkTests {
    private func look(_ world: World) async throws -> DueWork.Look {
        try await world.orchestrator.deliveryStore.dueWork.look()
    }

    private func due(_ world: World) async throws -> Set<WorkKind> { try await look(world).due }

    @Test("Nothing is due where nothing was accepted")
    func rest() async throws {
        try await withWorld { world in
            let look = try await look(world)
            #expect(look == DueWork.Look())
        }
    }

    @Test("A change is due until it is sent")
    func change() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            #expect(try await due(world).isEmpty)
            try await world.follow("d1", token: "aa01")
            #expect(try await due(world) == [.segments], "the phone is to get the newest state")
            try await world.settle()
            #expect(try await due(world).isEmpty)
            try await world.update(score: 1)
            #expect(try await due(world) == [.segments])
            try await world.settle()
            #expect(try await due(world).isEmpty)
        }
    }

    @Test("A schedule is the next work before its time, and due from then on until it is run")
    func schedule() async throws {
        try await withWorld { world in
            let starts = try await world.orchestrator.clock.now().microseconds + 300_000_000
            try await world.start { $0.startsAt = Instant(microseconds: starts) }
            let before = try await look(world)
            #expect(before.due.isEmpty)
            let next = try #require(before.next)
            #expect(next > .seconds(200) && next <= .seconds(300))
            try await world.pass(301)
            #expect(try await due(world) == [.schedules])
            while try await ScheduleRunner(orchestrator: world.orchestrator).runDue() {}
            try await world.settle()
            #expect(try await due(world).isEmpty)
        }
    }

    @Test("A push is due in its environment")
    func push() async throws {
        try await withWorld { world in
            try await world.register("phone", deviceToken: "aa01")
            let request = PushRequest(to: .device(DeviceID(stored: "phone")), pushType: .alert, aps: ["alert": "Goal"])
            _ = try await world.orchestrator.intake.push(world.app, request)
            #expect(try await due(world) == [.productionPushes])
            try await PushQueue(room: world.orchestrator.delivery).sendDue()
            #expect(try await due(world).isEmpty)
        }
    }

    @Test("A card is due when its eight hours are over")
    func card() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let look = try await look(world)
            #expect(look == DueWork.Look(), "a card is not urgent")
            try await world.pass(28_801)
            #expect(try await due(world).contains(.cards))
            _ = try await world.watchCards()
            #expect(try await !due(world).contains(.cards))
        }
    }

    @Test("A daemon that runs deletes channels after their grace time, and ends the cards of lost ones")
    func channels() async throws {
        let settings = OrchestratorSettings {
            $0.lease = .seconds(20)
            $0.pollInterval = .milliseconds(20)
            $0.stretchSize = 2
        }
        try await withWorld(policy: { $0.channelStorage = .none }, settings: settings) { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...5 { try await world.report("d\(number)", .channel, known: 1) }
            try await world.pass(120)
            world.recorder.loseChannel("channel1")
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await due(world).contains(.lostChannels))
            try await world.start("other", delivery: .channel)
            try await world.settle()
            try await world.end("other")
            try await world.settle()
            try await world.pass(301)
            #expect(try await due(world).contains(.channelDeletions))
            try await running(world) {
                try await eventually("the channel is deleted", is: { !world.recorder.deletedChannels.isEmpty })
                try await eventually("the cards are ended") {
                    try await world.tables.cards().count { $0.reason == "channel_lost" } == 5
                }
            }
            #expect(try await due(world).isDisjoint(with: [.channelDeletions, .lostChannels]))
        }
    }

    @Test("A daemon that runs probes what another has halted, and notices the end of the halt")
    func halt() async throws {
        let settings = OrchestratorSettings {
            $0.lease = .seconds(20)
            $0.pollInterval = .milliseconds(20)
        }
        try await withWorld(settings: settings) { world in
            try await world.start()
            try await world.crowd(400)
            try await world.settle()
            world.recorder.answerAll(with: .badToken)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await due(world).contains(.halts))
            world.recorder.answerAll(with: nil)
            try await world.database.execute("UPDATE sending_halts SET probe_at = now()")
            let other = world.sibling()
            try await running(other) {
                try await eventually("the halt is over") {
                    try await world.number("SELECT count(*) FROM sending_halts") == 0
                }
                try await eventually("it is noticed", is: { !other.orchestrator.deliveryStore.halts.knowsAny })
            }
        }
    }

    /// Runs the services of a daemon meanwhile.
    private func running(_ world: World, _ body: () async throws -> Void) async throws {
        let services = ServiceGroup(services: world.orchestrator.services, logger: world.orchestrator.logger)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await services.run() }
            try await body()
            await services.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    @Test(
        "A daemon at rest looks less often, and in time for what will be due",
        arguments: [
            (DueWork.Look(), 1_000), (DueWork.Look(due: [.cards]), 1_000),
            (DueWork.Look(next: .milliseconds(300)), 300), (DueWork.Look(next: .milliseconds(1)), 100),
            (DueWork.Look(next: .seconds(5)), 1_000), (DueWork.Look(due: [.segments], next: .seconds(5)), 200),
        ]
    )
    func pause(after look: DueWork.Look, milliseconds: Int) {
        #expect(DueWork.pause(after: look, OrchestratorSettings()) == .milliseconds(milliseconds))
    }

    @Test("What fails is tried again at the next look")
    func failure() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            let work = DueWork(
                database: world.database,
                settings: OrchestratorSettings { $0.pollInterval = .milliseconds(20) },
                logger: world.orchestrator.logger
            )
            let tries = AsyncStream.makeStream(of: Void.self)
            await withTaskGroup { tasks in
                tasks.addTask { await work.run() }
                tasks.addTask {
                    await work.each(.segments, "try") {
                        tries.continuation.yield()
                        throw Failure("this fails")
                    }
                }
                var seen = tries.stream.makeAsyncIterator()
                for _ in 1...3 { await seen.next() }
                tasks.cancelAll()
            }
        }
    }
}
