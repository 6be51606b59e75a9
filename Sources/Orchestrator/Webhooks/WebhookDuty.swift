import Logging
import ServiceLifecycle
import Store
import Synchronization

/// Delivers events to the webhooks of this daemon's partitions, each with a task of its own, so that a dead address
/// delays nobody else.
final class WebhookDuty: Service, CustomStringConvertible {
    private let orchestrator: Orchestrator
    private let store: WebhookStore
    private let interval: Duration
    private let most: Int
    private let atWork = Mutex<Set<Int64>>([])

    /// - Parameters:
    ///   - orchestrator: Whose webhooks they are.
    ///   - interval: How often it looks for webhooks that are due.
    ///   - most: How many it delivers to at the same time. Each may hold a message in memory.
    init(orchestrator: Orchestrator, interval: Duration = .seconds(1), most: Int = 256) {
        self.orchestrator = orchestrator
        self.interval = interval
        self.most = most
        store = orchestrator.webhookStore
    }

    var description: String { "webhook-duty" }

    func run() async {
        guard let sender = orchestrator.webhookSender else {
            try? await gracefulShutdown()  // throws only when cancelled
            return
        }
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    for key in await self.begun() {
                        group.addTask { await self.deliver(to: key, sender) }
                    }
                    try? await Task.sleep(for: self.interval)  // throws only when cancelled
                }
            }
        }
    }

    /// Webhooks that now have a task.
    private func begun() async -> [Int64] {
        let (busy, room) = atWork.withLock { ($0.sorted(), most - $0.count) }
        let owned = orchestrator.partitions.owned
        guard room > 0, !owned.isEmpty, orchestrator.dueWork.isDue(.webhooks) else { return [] }
        do {
            let due = try await store.due(in: owned, except: busy, limit: room)
            atWork.withLock { $0.formUnion(due) }
            return due
        } catch {
            orchestrator.logger.failed("cannot look for webhooks", error)
            return []
        }
    }

    private func deliver(to key: Int64, _ sender: any WebhookSender) async {
        let partition = Int16(key % Int64(Ownership.partitions))
        // While others wait for a place, a worker that has nothing to do makes room soon.
        let isFull = atWork.withLock { $0.count >= most }
        let until = orchestrator.settings.uptime() + .seconds(isFull ? 5 : 300)
        let worker = WebhookWorker(
            orchestrator: orchestrator,
            store: store,
            sender: sender,
            key: key,
            patience: .seconds(isFull ? 1 : 10),
            mayGoOn: { [orchestrator] in
                orchestrator.settings.uptime() < until && orchestrator.partitions.owned.contains(partition)
            }
        )
        do {
            try await worker.run()
        } catch {
            orchestrator.logger.failed("cannot deliver to a webhook", error)
        }
        _ = atWork.withLock { $0.remove(key) }
    }
}

extension Orchestrator {
    var webhookStore: WebhookStore {
        WebhookStore(database: database, masterKeys: masterKeys, retention: settings.eventRetention)
    }
}
