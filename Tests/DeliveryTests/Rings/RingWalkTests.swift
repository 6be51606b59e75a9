import APITypes
import ActivityModel
import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Delivery
@testable import Orchestrator

@Suite("A walk along a long ring", .timeLimit(.minutes(3)))
struct RingWalkTests {
    @Test("What has left and is not stored stays within a batch, and the cursor is stored on the way")
    func bounds() async throws {
        try await withUpdateToSend(to: 2 * RingWalk.batchSize) { world, count in
            let gate = world.recorder.close()
            let walk = Task { try await world.settle() }
            await gate.arrivals(RingWalk.batchSize / TokenPushes.sliceSize)
            // All slices wait for their answers, and no more leave.
            #expect(world.recorder.pushes.count == RingWalk.batchSize)
            #expect(try await world.number("SELECT cursor FROM segments") == 0)
            world.recorder.open()
            await world.recorder.wait { $0.count > RingWalk.batchSize + RingWalk.partSize }
            try await walk.value
            let tokens = world.recorder.take().map(\.destination)
            #expect(tokens.count == count)
            #expect(Set(tokens).count == count)
            #expect(try await world.show().progress.current == count)
        }
    }

    @Test("A walk that is broken off by a crash repeats at most a batch")
    func crash() async throws {
        try await withUpdateToSend(to: 2 * RingWalk.batchSize) { world, count in
            // The last of the ring are never answered, until the daemon's lease is lost.
            let last = World.crowdToken(count)
            let gate = world.recorder.close(for: last)
            let dead = Task { try await world.settle() }
            await gate.arrivals()
            // A part that is just being stored prolongs the lease once more.
            while world.recorder.pushes.count <= count {
                try await world.expireLeases()
                try await world.sibling().settle()
            }
            gate.open()
            try await dead.value
            let pushes = Dictionary(grouping: world.recorder.take(), by: \.destination)
            #expect(pushes.count == count)
            let repeated = pushes.values.count { $0.count > 1 }
            #expect(repeated > 0)
            #expect(repeated <= RingWalk.batchSize)
            #expect(Set(pushes.values.flatMap { $0 }.map(\.bytes)).count == 1)
        }
    }

    @Test("Once the end is accepted a walk begins no more than one slice of what it was sending")
    func end() async throws {
        try await withUpdateToSend(to: 2 * RingWalk.batchSize) { world, count in
            let gate = world.recorder.close()
            let walk = Task { try await world.settle() }
            await gate.arrivals(RingWalk.batchSize / TokenPushes.sliceSize)
            try await world.end()
            world.recorder.open()
            try await walk.value
            let pushes = world.recorder.take()
            #expect(pushes.count { $0.event == "update" } <= RingWalk.batchSize + TokenPushes.sliceSize)
            #expect(pushes.count { $0.event == "end" } == count)
        }
    }

    @Test("Who joins late does not wait for the whole pass")
    func lateJoiner() async throws {
        try await withUpdateToSend(to: 5 * RingWalk.batchSize) { world, count in
            let gate = world.recorder.close(for: World.crowdToken(1))
            let walk = Task { try await world.settle() }
            await gate.arrivals()
            try await world.follow("late", token: "bb01")
            gate.open()
            try await walk.value
            let pushes = world.recorder.take()
            let place = try #require(pushes.firstIndex { $0.destination == "bb01" })
            #expect(place < count)
            #expect(pushes.count == count + 1)
        }
    }

    @Test("A worker that has lost its slot sends a full window and gives its ring back, due behind the others")
    func lostSlot() async throws {
        try await withUpdateToSend(to: 2 * RingWalk.batchSize) { world, count in
            let store = world.orchestrator.deliveryStore
            let slots = WorkerSlots(1, wakeUps: store.wakeUps)
            let slot = slots.take(holding: 1)
            slot.move(1)
            for _ in 0..<3 { slots.takeBackSilent() }
            #expect(slot.mustYield)
            let lease = try #require(try await store.segments.claim(limit: 1).first)
            await SegmentWorker(room: world.orchestrator.delivery, slot: slot, lease: lease).run()
            #expect(world.recorder.take().count == RingWalk.batchSize)
            try await world.settle()
            #expect(world.recorder.take().count == count - RingWalk.batchSize)
        }
    }

    /// Lends a world with a crowd of so many, to whom an update is to be sent that nobody has been sent yet.
    private func withUpdateToSend(to count: Int, _ body: (World, Int) async throws -> Void) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(count)
            try await world.settle()
            _ = world.recorder.take()
            try await world.update(score: 1)
            try await body(world, count)
        }
    }
}
