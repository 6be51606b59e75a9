import Logging
import Ownership
import ServiceLifecycle
import Store
import Synchronization

/// Delivers events to the webhooks of this daemon's partitions, each with a task of its own, so that a dead address
/// delays nobody else. While webhooks wait for a place, none has its place for long, and no app gets more than a quarter
/// of the places.
final class WebhookDuty: Service, CustomStringConvertible {
    private let webhooks: Webhooks
    private let interval: Duration
    private let most: Int
    private let atWork = Mutex<Set<Int64>>([])

    /// - Parameters:
    ///   - webhooks: The room.
    ///   - interval: How often it looks for webhooks that are due.
    ///   - most: How many it delivers to at the same time. Each may hold a message in memory.
    init(_ webhooks: Webhooks, interval: Duration = .seconds(1), most: Int = 256) {
        self.webhooks = webhooks
        self.interval = interval
        self.most = most
    }

    var description: String { "webhook-duty" }

    func run() async {
        guard let sender = webhooks.sender else {
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
        let owned = webhooks.partitions.owned
        guard room > 0, !owned.isEmpty, webhooks.isDue() else { return [] }
        do {
            let due = try await webhooks.rows.claim(
                in: owned,
                except: busy,
                limit: room,
                share: max(1, most / 4)
            )
            atWork.withLock { $0.formUnion(due) }
            return due
        } catch {
            webhooks.store.logger.failed("cannot look for webhooks", error)
            return []
        }
    }

    /// Whether others may wait for a place.
    private var isFull: Bool { atWork.withLock { $0.count >= most } }

    private func deliver(to key: Int64, _ sender: any WebhookSender) async {
        let partition = Int16(key % Int64(Ownership.partitions))
        let began = webhooks.store.settings.uptime()
        let worker = WebhookWorker(
            webhooks: webhooks,
            sender: sender,
            key: key,
            // While others wait for a place, a worker that has nothing to do makes room soon.
            patience: .seconds(isFull ? 1 : 10),
            mayGoOn: { [self] in
                webhooks.store.settings.uptime() < began + .seconds(isFull ? 5 : 300)
                    && webhooks.partitions.owned.contains(partition)
            }
        )
        do {
            try await worker.run()
        } catch {
            webhooks.store.logger.failed("cannot deliver to a webhook", error)
        }
        _ = atWork.withLock { $0.remove(key) }
    }
}
