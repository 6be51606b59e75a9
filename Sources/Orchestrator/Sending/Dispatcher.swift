import Logging
import ServiceLifecycle
import Synchronization

/// Finds segments that are due, leases them, and lets a bounded number of workers serve them.
///
/// A change accepted in this process is seen at once; everything else by a look at the database every poll interval.
struct Dispatcher: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    var description: String { "dispatcher" }

    func run() async {
        let slots = FreeSlots(orchestrator.settings.concurrentSegments)
        // Workers see the shutdown by themselves: they finish the batch that is out and give their lease back.
        await withDiscardingTaskGroup { group in
            group.addTask { await tick() }
            for await _ in orchestrator.wakeUps.signals.cancelOnGracefulShutdown() {
                while let leases = await claim(atMost: slots.free), !leases.isEmpty {
                    for lease in leases {
                        slots.take()
                        group.addTask {
                            await SegmentWorker(orchestrator: orchestrator, lease: lease).run()
                            slots.giveBack()
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
    private func claim(atMost limit: Int) async -> [SegmentLease]? {
        guard limit > 0 else { return nil }
        do {
            try await orchestrator.segments.takeAnnouncements()
            return try await orchestrator.segments.claim(limit: limit)
        } catch {
            orchestrator.logger.warning("cannot look for work", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

/// How many more workers may run.
private final class FreeSlots: Sendable {
    private let count: Mutex<Int>

    init(_ count: Int) {
        self.count = Mutex(count)
    }

    var free: Int { count.withLock { $0 } }

    func take() {
        count.withLock { $0 -= 1 }
    }

    func giveBack() {
        count.withLock { $0 += 1 }
    }
}
