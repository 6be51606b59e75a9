import Logging
import ServiceLifecycle
import Synchronization

/// Finds segments that are due, leases them, and lets a bounded number of workers serve them in groups.
///
/// A change accepted in this process is seen at once; everything else by a look at the database every poll interval.
struct Dispatcher: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    var description: String { "dispatcher" }

    func run() async {
        let slots = FreeSlots(orchestrator.settings.concurrentSegments)
        let size = GroupSize()
        // Workers see the shutdown by themselves: they finish the batch that is out and give their lease back.
        await withDiscardingTaskGroup { workers in
            workers.addTask { await tick() }
            for await _ in orchestrator.wakeUps.signals.cancelOnGracefulShutdown() {
                while slots.free > 0 {
                    let groupSize = size.current
                    guard
                        let leases = await claim(
                            atMost: slots.free * groupSize,
                            takesFurtherRing: slots.mayTakeFurtherRing
                        ),
                        !leases.isEmpty
                    else { break }
                    for further in leases.filter(\.isFurtherRing) {
                        slots.take(isFurther: true)
                        workers.addTask {
                            await SegmentWorker(orchestrator: orchestrator, lease: further).run()
                            slots.giveBack(isFurther: true)
                            orchestrator.wakeUps.signal()
                        }
                    }
                    for group in leases.filter({ !$0.isFurtherRing }).inGroups(of: groupSize) {
                        slots.take(isFurther: false)
                        workers.addTask {
                            let hadTooMuch = await SegmentGroup(orchestrator: orchestrator, leases: group).run()
                            size.learn(hadTooMuch: hadTooMuch)
                            slots.giveBack(isFurther: false)
                            orchestrator.wakeUps.signal()
                        }
                    }
                }
            }
        }
    }

    private func tick() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                orchestrator.wakeUps.signal()
                try? await Task.sleep(for: orchestrator.settings.pollInterval)  // throws only when cancelled
            }
        }
    }

    /// Nil if the database cannot be asked; the next tick tries again.
    private func claim(atMost limit: Int, takesFurtherRing: Bool) async -> [SegmentLease]? {
        do {
            try await orchestrator.segments.takeAnnouncements()
            return try await orchestrator.segments.claim(limit: limit, takesFurtherRing: takesFurtherRing)
        } catch {
            orchestrator.logger.warning("cannot look for work", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

/// How many segments a worker is given at once: many while they are small rings, else one.
private final class GroupSize: Sendable {
    private static let most = 64

    private let size = Atomic(1)

    var current: Int { size.load(ordering: .relaxed) }

    func learn(hadTooMuch: Bool) {
        let next = hadTooMuch ? 1 : min(2 * current, Self.most)
        // Two workers may learn at the same moment; either is right.
        size.store(next, ordering: .relaxed)
    }
}

extension [SegmentLease] {
    fileprivate func inGroups(of size: Int) -> [[SegmentLease]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}

/// How many more workers may run. Half of them at most serve further rings of activities, so that a few large ones leave
/// room for the others.
private final class FreeSlots: Sendable {
    private struct Counts {
        var free: Int
        var freeForFurther: Int
    }

    private let counts: Mutex<Counts>

    init(_ count: Int) {
        counts = Mutex(Counts(free: count, freeForFurther: max(count / 2, 1)))
    }

    /// Less than 0 when a further ring was taken with the last.
    var free: Int { counts.withLock { $0.free } }

    var mayTakeFurtherRing: Bool { counts.withLock { $0.freeForFurther > 0 } }

    func take(isFurther: Bool) { change(by: -1, isFurther) }

    func giveBack(isFurther: Bool) { change(by: 1, isFurther) }

    private func change(by difference: Int, _ isFurther: Bool) {
        counts.withLock { counts in
            counts.free += difference
            if isFurther { counts.freeForFurther += difference }
        }
    }
}
