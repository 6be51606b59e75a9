import APITypes
import ActivityModel
import DeliveryStore
import Intake
import Logging
import OrchestratorTestSupport
import Postgres
import ServiceLifecycle
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

@Suite("Daemons that run", .timeLimit(.minutes(2)))
struct ServiceTests {
    // A lease that runs out while the machine is busy has its work done twice.
    private static let settings = OrchestratorSettings {
        $0.lease = .seconds(20)
        $0.pollInterval = .milliseconds(20)
    }

    /// A daemon's services in a group, as the program runs them.
    private func group(_ world: World) -> ServiceGroup {
        ServiceGroup(services: world.orchestrator.services, logger: world.orchestrator.logger)
    }

    @Test("What is accepted is sent without anybody asking, and schedules run at their time")
    func alive() async throws {
        try await withWorld(settings: Self.settings, isAlive: true) { world in
            try await withThrowingTaskGroup { tasks in
                let services = group(world)
                tasks.addTask { try await services.run() }
                try await world.register("d1", token: "5a01")
                try await world.start(to: World.devices("d1")) { $0.startsAt = Instant(microseconds: 1) }
                await world.recorder.wait { $0.contains { $0.destination == "5a01" } }
                try await world.follow("d1", token: "aa01")
                try await world.update(score: 1, alert: "Messi")
                await world.recorder.wait { $0.contains { $0.destination == "aa01" && $0.score == 1 } }
                try await world.database.execute(
                    """
                    INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
                    SELECT activity_key, bundle_id, 'end', now(), '{}' FROM activities
                    """
                )
                await world.recorder.wait { $0.contains { $0.destination == "aa01" && $0.event == "end" } }
                await services.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    @Test("A graceful shutdown ends the batch that is out, gives the lease back and accepts nothing more")
    func shutdown() async throws {
        try await withWorld(settings: Self.settings, isAlive: true) { world in
            try await withThrowingTaskGroup { tasks in
                let services = group(world)
                tasks.addTask { try await services.run() }
                try await world.start()
                try await world.crowd(3)
                let gate = world.recorder.close()
                try await world.update(score: 1)
                await gate.arrivals()
                await services.triggerGracefulShutdown()
                // The intake is the first to stop; the worker still waits for its answer.
                while try await problem({ try await world.update(score: 2) })?.status != 503 {}
                world.recorder.open()
                try await tasks.waitForAll()
            }
            // Whole batches only: the one that was out, and one more if an update got in before the intake closed.
            #expect([3, 6].contains(world.recorder.take().count))
            #expect(try await world.tables.heldWork() == 0)
            // What was accepted before the refusal and not sent any more is still due for the next daemon.
            try await world.pass(10)
            try await world.settle()
            #expect(try await world.show().progress.current == 3)
        }
    }

    /// Stops when a test lets it.
    private struct Lingering: Service {
        let gate: Gate

        func run() async {
            try? await gracefulShutdown()  // throws only when cancelled
            await gate.pass()
        }
    }

    @Test("A daemon that stops claims no schedule that it cannot accept any more: an end passes those that wait")
    func schedulesAtShutdown() async throws {
        try await withWorld(settings: Self.settings, isAlive: true) { world in
            let gate = Gate()
            var services = world.orchestrator.services
            let intake = try #require(services.firstIndex { $0 is IntakeGroups })
            let runner = try #require(services.firstIndex { $0 is ScheduleRunner })
            // What starts last stops first.
            #expect(runner > intake)
            services.insert(Lingering(gate: gate), at: intake)
            let daemon = ServiceGroup(services: services, logger: world.orchestrator.logger)
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { try await daemon.run() }
                try await world.start()
                try await world.follow("d1", token: "aa01", known: 1)
                await daemon.triggerGracefulShutdown()
                // The intake has stopped, and what stops after it has not.
                await gate.arrivals()
                try await world.database.execute(
                    """
                    INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
                    SELECT a.activity_key, a.bundle_id, k.kind::schedule_kind, now() - k.ago, k.body::json
                    FROM activities AS a CROSS JOIN (VALUES
                        ('update', interval '2 seconds', '{"content_state":{"score":3}}'),
                        ('end', interval '1 second', '{}')
                    ) AS k(kind, ago, body)
                    """
                )
                try await eventually("the daemon has seen them") {
                    world.orchestrator.deliveryStore.dueWork.isDue(.schedules)
                }
                gate.open()
                try await tasks.waitForAll()
            }
            // The next daemon runs them in their order.
            let next = world.sibling()
            try await next.withIntake {
                while try await ScheduleRunner(orchestrator: next.orchestrator).runDue() {}
            }
            try await next.settle()
            #expect(world.recorder.pushes(to: "aa01").last?.event == "end")
            #expect(world.recorder.pushes(to: "aa01").last?.score == 3)
        }
    }

    @Test("When one of two daemons dies in the middle of a batch, the other takes its work over")
    func takeover() async throws {
        var settings = Self.settings
        settings.lease = .milliseconds(600)
        try await withWorld(settings: settings, isAlive: true) { world in
            let other = world.sibling()
            let dying = group(world)
            let death = Task { try await dying.run() }
            try await world.start()
            try await world.crowd(3)
            let gate = world.recorder.close()
            try await world.update(score: 1)
            await gate.arrivals()
            // Killed: nothing that it does from now on reaches the database, least of all that it gives its lease back.
            try await withThrowingTaskGroup { tasks in
                let living = group(other)
                tasks.addTask { try await living.run() }
                death.cancel()
                world.recorder.open()
                _ = try? await death.value
                try await other.update(score: 2)
                await world.recorder.wait { pushes in
                    (1...3).allSatisfy { number in
                        pushes.contains { $0.destination == World.crowdToken(number) && $0.score == 2 }
                    }
                }
                await living.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
            for number in 1...3 {
                let scores = world.recorder.pushes(to: World.crowdToken(number)).compactMap(\.score)
                #expect(scores == scores.sorted())
            }
        }
    }

    @Test("Many phones that register while daemons start and update them all end with the newest state")
    func turmoil() async throws {
        try await withWorld(settings: Self.settings, isAlive: true) { world in
            let other = world.sibling()
            try await withThrowingTaskGroup { tasks in
                let groups = [group(world), group(other)]
                for services in groups { tasks.addTask { try await services.run() } }
                try await world.start(to: Audience(allOfType: true), delivery: .tokens)
                try await withThrowingTaskGroup { phones in
                    for number in 10...39 {
                        phones.addTask {
                            let daemon = number.isMultiple(of: 2) ? world : other
                            try await daemon.register("d\(number)", token: "5a\(number)")
                            await world.recorder.wait { $0.contains { $0.destination == "5a\(number)" } }
                            try await daemon.follow("d\(number)", token: "aa\(number)")
                        }
                    }
                    for score in 1...10 {
                        phones.addTask {
                            try await (score.isMultiple(of: 2) ? world : other).update(score: Int64(score))
                        }
                    }
                    try await phones.waitForAll()
                }
                try await other.end(score: 99)
                await world.recorder.wait { pushes in
                    (10...39).allSatisfy { number in
                        pushes.contains { $0.destination == "aa\(number)" && $0.event == "end" && $0.score == 99 }
                    }
                }
                for services in groups { await services.triggerGracefulShutdown() }
                try await tasks.waitForAll()
            }
            for number in 10...39 {
                #expect(world.recorder.pushes(to: "5a\(number)").count == 1)
                let pushes = world.recorder.pushes(to: "aa\(number)")
                #expect(pushes.last?.event == "end")
                #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
            }
            #expect(try await world.show().starts.repeated == 0)
        }
    }
}
