import DeliveryStore
import Logging
import ServiceLifecycle
import Store

/// Finds due segments and leases them. A bounded number of workers serves them in groups (``WorkerSlots``).
///
/// Work that this process accepted comes leased already, or is seen at once; ``DueWork`` finds all other work.
struct Dispatcher: Service, CustomStringConvertible {
    let room: DeliveryRoom

    var description: String { "dispatcher" }

    private var wakeUps: WakeUps { room.wakeUps }

    func run() async {
        let slots = WorkerSlots(room.settings.concurrentSegments, wakeUps: wakeUps)
        let size = GroupSize()
        // Workers notice the shutdown themselves: they finish the batch that is out and give their lease back.
        await withDiscardingTaskGroup { workers in
            workers.addTask { await room.dueWork.each(.segments, "look for work") { wakeUps.signal() } }
            workers.addTask { await lookAfterWorkers(slots) }
            for await _ in wakeUps.signals.cancelOnGracefulShutdown() {
                while slots.free > 0 {
                    let handed = wakeUps.takeLeases(WorkerSlots.mostHeld)
                    guard !handed.isEmpty else { break }
                    begin(handed, slots, size, in: &workers)
                }
                while slots.free > 0, wakeUps.takeLook() {
                    let groupSize = size.current
                    let limit = slots.free * groupSize
                    let leases = await claim(atMost: limit, takesFurtherRing: slots.mayTakeFurtherRing)
                    guard let leases, !leases.isEmpty else { break }
                    let segments = leases.map { LeasedSegment(lease: $0) }
                    let further = segments.filter(\.lease.isFurtherRing)
                    // There may be more.
                    if leases.count >= limit || !further.isEmpty { wakeUps.signal() }
                    for ring in further { begin([ring], isFurther: true, slots, size, in: &workers) }
                    for group in segments.filter({ !$0.lease.isFurtherRing }).inGroups(of: groupSize) {
                        begin(group, slots, size, in: &workers)
                    }
                }
            }
        }
        // Without a database the leases expire.
        try? await room.segments.release(wakeUps.close().map(\.lease))
    }

    /// Has a group served.
    private func begin(
        _ segments: [LeasedSegment],
        isFurther: Bool = false,
        _ slots: WorkerSlots,
        _ size: GroupSize,
        in workers: inout DiscardingTaskGroup
    ) {
        let slot = slots.take(isFurther: isFurther, holding: segments.count)
        workers.addTask {
            let outcome = await SegmentGroup(room: room, slot: slot, segments: segments).run()
            size.learn(from: outcome)
            slots.giveBack(slot)
            if outcome.mayHaveMore { wakeUps.signal() } else { wakeUps.goOn() }
        }
    }

    /// Takes back the slots of workers that only wait, and the leases that no worker was free for.
    private func lookAfterWorkers(_ slots: WorkerSlots) async {
        let settings = room.settings
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if slots.takeBackSilent() { self.wakeUps.goOn() }
                do {
                    try await self.giveBackOverdue(at: .now)
                } catch {
                    self.room.logger.failed("cannot give leases back", error)
                }
                let pause = slots.isIdle ? settings.pollIntervalAtRest : settings.pollInterval
                try? await Task.sleep(for: pause)  // throws only when cancelled
            }
        }
    }

    /// Gives back segments that were handed over and have waited for a worker for a quarter of their lease.
    func giveBackOverdue(at now: ContinuousClock.Instant) async throws {
        let overdue = wakeUps.takeOverdue(since: now - room.settings.lease / 4)
        guard !overdue.isEmpty else { return }
        try await room.segments.release(overdue.map(\.lease))
        wakeUps.signalAll()
    }

    /// Nil if the database does not answer, or this daemon can sign nothing; ``DueWork`` reports due work again.
    private func claim(atMost limit: Int, takesFurtherRing: Bool) async -> [SegmentLease]? {
        do {
            try await room.segments.takeAnnouncements()
            guard !room.store.masterKeyWatch.cannotSend else { return nil }
            return try await room.segments.claim(limit: limit, takesFurtherRing: takesFurtherRing)
        } catch {
            room.logger.failed("cannot look for work", error)
            return nil
        }
    }
}

extension [LeasedSegment] {
    fileprivate func inGroups(of size: Int) -> [[LeasedSegment]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
