import ActivityModel
import DeliveryStore
import OrchestratorTestSupport
import Testing

@testable import Delivery
@testable import Orchestrator
@testable import Store

@Suite("A daemon with a wrong master key", .timeLimit(.minutes(2)))
struct ForeignMasterKeyTests {
    @Test("It takes no work that it cannot send, so that another daemon sends it at once")
    func leavesWork() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            _ = world.recorder.take()
            let stranger = World(
                orchestrator: .test(on: world.database, world.recorder, settings: OrchestratorSettings()),
                app: world.app
            )
            let wakeUps = stranger.orchestrator.deliveryStore.wakeUps
            try await MasterKeyCheck(store: stranger.orchestrator.store).look()
            wakeUps.open(room: 1)
            try await stranger.withIntake { try await stranger.update(score: 1) }
            #expect(wakeUps.takeLeases(10).isEmpty)

            let dispatcher = Dispatcher(room: stranger.orchestrator.delivery)
            let running = Task { await dispatcher.run() }
            wakeUps.signal()
            try await Task.sleep(for: .milliseconds(500))
            running.cancel()
            await running.value
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])

            try await world.acceptPushes(["aa02"], of: world.app)
            let taken = try await PushQueue(room: stranger.orchestrator.delivery).claim(in: .production)
            #expect(taken.isEmpty)
            try await world.sendDuePushes()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
        }
    }
}
