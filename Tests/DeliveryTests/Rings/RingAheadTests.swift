import OrchestratorTestSupport
import Postgres
import Store
import Synchronization
import Testing

@testable import Cards
@testable import Delivery
@testable import DeliveryStore
@testable import Orchestrator

@Suite("What a walk has read ahead", .timeLimit(.minutes(2)))
struct RingAheadTests {
    @Test("Is sent while it is new, and read anew when it is older than 250 ms; what is empty does not age")
    func age() {
        let now = ContinuousClock.now
        var ahead = RingAhead([RingSlice()], last: 128, readAt: now)
        #expect(!ahead.isOutdated(at: now + .milliseconds(250)))
        #expect(ahead.isOutdated(at: now + .milliseconds(251)))
        #expect(ahead.next() != nil)
        #expect(!ahead.isOutdated(at: now + .seconds(60)))
    }

    @Test("Leaves in slices of 128 in the order of the ring, each destination once, and says who was the last")
    func slices() async throws {
        try await withPass { world, pass in
            let (look, first) = try await world.orchestrator.deliveryStore.segments.read(
                pass,
                after: 0,
                isFirst: true,
                seekingDue: false
            )
            #expect(look.mayGoOn)
            #expect(first.sizes == [128])
            let second = try await world.orchestrator.deliveryStore.segments.read(pass, behind: #require(first.last))
            #expect(second.sizes == [128, 128, 128, 128])
            let third = try await world.orchestrator.deliveryStore.segments.read(pass, behind: #require(second.last))
            #expect(third.sizes == [60])
            #expect(third.last == nil)
            let keys = first.keys + second.keys + third.keys
            #expect(keys == keys.sorted())
            #expect(Set(keys).count == 700)
        }
    }

    @Test(
        "Leaves no further than the slice after which the look has seen a newer change, however much was read; if that grew old, not at all",
        arguments: [false, true]
    )
    func newerChange(isOutdated: Bool) async throws {
        try await withPass { world, pass in
            try await world.update(score: 2)
            var walk = try await walk(pass, in: world)
            // Else time stands, for that the machine is busy is not to age anything.
            walk.now = if isOutdated { standingStill(before: 1) } else { { [now = ContinuousClock.now] in now } }
            // The first slice of a pass may be overtaken by a change that comes while the walk turns. When it is read
            // anew, the look that it was read with first says nothing any more.
            let (_, pushes) = try await walk.run(after: 0)
            #expect(pushes == (isOutdated ? 0 : TokenPushes.sliceSize))
            #expect(world.recorder.take().count == pushes)
        }
    }

    @Test(
        "What grew old before it could leave is read anew with a look: everybody is sent once, by a probe only its few"
    )
    func outdated() async throws {
        for isProbe in [false, true] {
            try await withPass { world, pass in
                var pass = pass
                pass.activity.isProbe = isProbe
                var walk = try await walk(pass, in: world)
                // The process stood still for a second before the first slice, and behind the look at the third.
                walk.now = standingStill(before: 1, 6)
                let (_, pushes) = try await walk.run(after: 0)
                #expect(pushes == (isProbe ? SendingHalt.probeSize : 700))
                let sent = world.recorder.take().map(\.destination)
                #expect(sent.count == pushes)
                #expect(Set(sent).count == pushes)
                let completed = try await world.number("SELECT completed_revision FROM segments WHERE segment = 0")
                #expect((completed == 2) == !isProbe)
            }
        }
    }

    /// A match that 700 follow, all of whom a pass is about to bring the same news.
    private func withPass(_ body: @Sendable (World, RingPass) async throws -> Void) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(700)
            try await world.settle()
            _ = world.recorder.take()
            try await world.update(score: 1)
            try await body(world, pass(in: world))
        }
    }

    /// A clock that is a second late when it is asked for the first time, say.
    private func standingStill(before questions: Int...) -> @Sendable () -> ContinuousClock.Instant {
        let asked = Mutex(0)
        return {
            let number = asked.withLock { count in
                count += 1
                return count
            }
            return .now + .seconds(questions.contains(number) ? 1 : 0)
        }
    }

    @Test("The look for a card that is due does not read those that ride, also when many were due a moment ago")
    func dueCards() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start()
            try await world.crowd(3_000)
            try await world.settle()
            try await world.update(score: 1)
            let pass = try await pass(in: world)
            // The server plans for what it has counted: half of the cards are due.
            try await world.database.execute(
                "UPDATE subscriptions SET state = 'due', due_at = now() WHERE device_key % 2 = 0"
            )
            try await world.database.execute("ANALYZE subscriptions")
            try await world.database.execute("UPDATE subscriptions SET state = 'riding', due_at = NULL")
            let before = try await world.rowsRead("subscriptions")
            let look = try await world.orchestrator.deliveryStore.segments.look(ahead: pass, seekingDue: true)
            #expect(!look.hasOtherWork)
            #expect(try await world.rowsRead("subscriptions") - before < 100)
        }
    }

    private func walk(_ pass: RingPass, in world: World) async throws -> RingWalk {
        let (orchestrator, activity) = (world.orchestrator, pass.activity)
        let (carousel, merges) = ChangeStore.turned(pass.progress.carousel, to: activity, under: pass.lease)
        return RingWalk(
            room: orchestrator.delivery,
            slot: nil,
            pass: pass,
            alert: nil,
            identity: try await orchestrator.store.signing.identity(of: activity.bundleID, activity.environment),
            progress: RingProgress(
                segments: orchestrator.deliveryStore.segments,
                lease: pass.lease,
                change: pass.change.revision,
                alertStamp: nil,
                carousel: carousel,
                merges: merges,
                nothing: PushExceptions(activityKey: activity.key, backoff: orchestrator.settings.backoff)
            )
        )
    }

    private func pass(in world: World) async throws -> RingPass {
        let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
        let look = try #require(try await world.orchestrator.deliveryStore.segments.look(lease))
        return RingPass(
            lease: lease,
            progress: look.progress,
            activity: look.activity,
            change: try #require(look.newest),
            alert: nil,
            through: nil,
            mostPushes: nil
        )
    }
}

extension RingAhead {
    fileprivate var all: [RingSlice] {
        var (rest, slices) = (self, [RingSlice]())
        while let slice = rest.next() { slices.append(slice) }
        return slices
    }

    fileprivate var sizes: [Int] { all.map(\.count) }
    fileprivate var keys: [Int64] { all.flatMap(\.deviceKeys) }
}
