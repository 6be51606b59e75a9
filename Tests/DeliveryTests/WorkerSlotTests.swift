import APITypes
import ActivityModel
import Logging
import OrchestratorTestSupport
import Postgres
import ServiceLifecycle
import Synchronization
import Testing

@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator
@testable import Store

@Suite("The slots of workers", .timeLimit(.minutes(2)))
struct WorkerSlotTests {
    private static let settings = OrchestratorSettings {
        $0.lease = .seconds(1)
        $0.pollInterval = .milliseconds(20)
    }

    /// Three calls end two whole intervals.
    private func passTime(_ slots: WorkerSlots) {
        for _ in 0..<3 { slots.takeBackSilent() }
    }

    @Test(
        "Who only waits for answers gives the slot back, once; who is answered, begins more or waits for nobody keeps it"
    )
    func silence() {
        let slots = WorkerSlots(3, wakeUps: WakeUps())
        let (waiting, served, busy) = (
            slots.take(isFurther: true, holding: 1), slots.take(holding: 1), slots.take(holding: 1)
        )
        #expect(slots.free == 0 && !slots.mayTakeFurtherRing)
        waiting.move(1)
        for _ in 0..<20 {
            served.move(1)
            served.move(1)
            slots.takeBackSilent()
            served.move(-1)
            slots.takeBackSilent()
        }
        #expect(slots.free == 1 && slots.mayTakeFurtherRing)
        #expect(waiting.mustYield)
        #expect(!served.mustYield)
        slots.giveBack(waiting)
        #expect(slots.free == 1)
        slots.giveBack(served)
        slots.giveBack(busy)
        #expect(slots.free == 3)
    }

    @Test(
        "So many rings wait without a slot at most, whoever has them, and those who end make room for others",
        arguments: [(1, 33), (8, 33), (20, 13), (64, 5)]
    )
    func bound(rings: Int, workers: Int) {
        let slots = WorkerSlots(1, wakeUps: WakeUps())
        var waiting: [WorkerSlot] = []
        while slots.free > 0, waiting.count < 1_000 {
            let slot = slots.take(holding: rings)
            slot.move(1)
            waiting.append(slot)
            passTime(slots)
        }
        #expect(waiting.count == workers)
        slots.giveBack(waiting[0])
        passTime(slots)
        #expect(slots.free == 1)
    }

    @Test("A worker takes as much room as it has rings; who ends or only waits gives it back")
    func room() {
        let wakeUps = WakeUps()
        let slots = WorkerSlots(2, wakeUps: wakeUps)
        func room() -> Int {
            let room = wakeUps.reserve(1_000)
            wakeUps.giveBack(room)
            return room
        }
        #expect(room() == 128)
        let (lone, full) = (slots.take(holding: 1), slots.take(holding: 64))
        #expect(slots.free == 0 && room() == 63)
        // What was found in the database may be more than there is room for.
        let more = slots.take(holding: 64)
        #expect(room() == 0)
        slots.giveBack(more)
        slots.giveBack(full)
        #expect(room() == 127)
        lone.move(1)
        passTime(slots)
        #expect(room() == 128)
        slots.giveBack(lone)
        #expect(room() == 128)
    }

    @Test("What is handed over waits for a worker for a part of its lease; then others have it, and no more is leased")
    func overdue() async throws {
        try await withWorld { world in
            for number in 1...2 {
                try await world.start("a\(number)")
                try await world.follow("d\(number)", token: "aa0\(number)", in: "a\(number)", known: 1)
            }
            try await world.settle()
            let wakeUps = world.orchestrator.deliveryStore.wakeUps
            wakeUps.open(room: 10)
            let dispatcher = Dispatcher(room: world.orchestrator.delivery)
            try await world.update("a1", score: 1)
            try await dispatcher.giveBackOverdue(at: .now)
            #expect(wakeUps.reserve(9) == 9)
            wakeUps.giveBack(9)
            try await dispatcher.giveBackOverdue(at: .now + .seconds(2))
            #expect(wakeUps.reserve(1) == 0)
            try await world.sibling().settle()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
            try await world.update("a2", score: 1)
            #expect(wakeUps.takeLeases(1).isEmpty)
            // A worker is free: it has asked.
            #expect(wakeUps.reserve(10) == 10)
        }
    }

    /// Updates one card in production, and waits for each push.
    private func sendToProduction(in world: World) async throws {
        try await world.start()
        try await world.follow("phone", token: "aa01", known: 1)
        for score in Int64(1)...5 {
            try await world.update(score: score)
            await world.recorder.wait { $0.contains { $0.destination == "aa01" && $0.score == score } }
        }
    }

    @Test(
        "While the sandbox is silent, what goes to production leaves as ever, and the sandbox is served when it speaks again"
    )
    func silentPlace() async throws {
        try await withWorld(settings: Self.settings, isAlive: true) { world in
            let silent = 50
            try await world.addSandbox()
            let gate = world.recorder.close(.sandbox)
            try await withThrowingTaskGroup { tasks in
                let services = ServiceGroup(services: world.orchestrator.services, logger: world.orchestrator.logger)
                tasks.addTask { try await services.run() }
                for number in 10..<10 + silent {
                    try await world.start("s\(number)") { $0.environment = .sandbox }
                    try await world.follow("d\(number)", token: "5b\(number)", in: "s\(number)", on: .sandbox)
                }
                await gate.arrivals(silent)
                try await sendToProduction(in: world)
                gate.open()
                for number in 10..<10 + silent { try await world.update("s\(number)", score: 7) }
                await world.recorder.wait { pushes in
                    (10..<10 + silent).allSatisfy { number in
                        pushes.contains { $0.destination == "5b\(number)" && $0.score == 7 }
                    }
                }
                await services.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    @Test(
        "While nobody answers in the sandbox who asks for a channel, what goes to production leaves as ever"
    )
    func silentChannels() async throws {
        try await withWorld(settings: Self.settings, isAlive: true) { world in
            let silent = 60
            try await world.addSandbox()
            let gate = world.recorder.close(.sandbox)
            try await withThrowingTaskGroup { tasks in
                let services = ServiceGroup(services: world.orchestrator.services, logger: world.orchestrator.logger)
                tasks.addTask { try await services.run() }
                for number in 10..<10 + silent {
                    try await world.start("s\(number)") {
                        $0.environment = .sandbox
                        $0.delivery = .channel
                    }
                }
                // So many are asked for at a time; the others wait.
                await gate.arrivals(32)
                try await sendToProduction(in: world)
                gate.open()
                await services.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
    }

    @Test(
        "A worker that has worked for long gives its segment back between two turns, due behind the others, if it takes a place from them",
        arguments: [1, 2]
    )
    func longWork(slots count: Int) async throws {
        let clock = Mutex(Duration.zero)
        var settings = OrchestratorSettings()
        settings.uptime = {
            clock.withLock { time in
                time += .seconds(10)
                return time
            }
        }
        try await withWorld(settings: settings) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.orchestrator.deliveryStore.segments.takeAnnouncements()
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            let slots = WorkerSlots(count, wakeUps: world.orchestrator.deliveryStore.wakeUps)
            let slot = slots.take(holding: 1)
            await SegmentWorker(room: world.orchestrator.delivery, slot: slot, lease: lease).run()
            #expect(world.recorder.take().count == 1)
            let given: Query = """
                SELECT count(*) FROM segments WHERE lease_owner IS NULL AND lease_until IS NULL AND due_at <= clock_timestamp()
                """
            #expect(try await world.number(given) == (count == 1 ? 1 : 0))
            #expect(
                try await world.number("SELECT count(*) FROM segments WHERE due_at IS NULL") == (count == 1 ? 0 : 1)
            )
        }
    }
}
