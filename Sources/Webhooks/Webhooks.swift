package import Ownership
package import Record
package import ServiceLifecycle
package import Store

/// The room of webhooks: posts events to the receivers that an operator has registered.
///
/// - **What it does.** It keeps webhooks (`Webhooks+Operations`) and delivers to those of this daemon's partitions (`Delivery`).
///   Each has a worker of its own, so that a dead receiver delays nobody else.
/// - **Who calls it.** The HTTP API. Posts leave through a ``WebhookSender``.
/// - **Tables that it alone writes.** `webhooks`.
package struct Webhooks: Sendable {
    let store: Store
    let record: Record
    let partitions: PartitionKeeper
    let clock: DatabaseClock
    /// Nil: no webhook gets anything.
    let sender: (any WebhookSender)?
    let isDue: @Sendable () -> Bool

    /// - Parameters:
    ///   - store: What is written, and how.
    ///   - record: Reads the events.
    ///   - partitions: Says which webhooks are this daemon's.
    ///   - clock: Says what time a request bears.
    ///   - sender: Posts; nil: no webhook gets anything.
    ///   - isDue: Whether there may be a webhook to deliver to, as far as the last look knows.
    package init(
        store: Store,
        record: Record,
        partitions: PartitionKeeper,
        clock: DatabaseClock,
        sender: (any WebhookSender)?,
        isDue: @escaping @Sendable () -> Bool
    ) {
        self.store = store
        self.record = record
        self.partitions = partitions
        self.clock = clock
        self.sender = sender
        self.isDue = isDue
    }

    /// What delivers, until the daemon stops.
    package var duty: any Service { WebhookDuty(self) }

    /// What delivery reads and writes.
    var rows: WebhookStore {
        WebhookStore(
            database: store.database,
            masterKeys: store.masterKeys,
            retention: store.settings.eventRetention
        )
    }
}
