import Postgres
package import Store

/// Reads what the other rooms have written: activities with their cards and audiences, events, the timeline with its
/// verdict, and the audit log.
///
/// The HTTP API asks it for a caller, the webhooks for what to deliver.
/// It writes nothing.
package struct Record: Sendable {
    let store: Store
    /// Counts the cards and the starts of activities.
    package let counter: DeliveryCounter
    package let events: EventStore
    package let feed: EventFeed

    /// - Parameters:
    ///   - store: What is read. Its settings say how often it is asked for new events.
    ///   - settleRestored: Settles the order of events in a restored database, before they are read.
    package init(store: Store, settleRestored: @escaping @Sendable () async throws -> Void) {
        self.store = store
        counter = DeliveryCounter(database: store.database)
        events = EventStore(database: store.database)
        feed = EventFeed(
            store: events,
            interval: store.settings.pollInterval,
            atRest: store.settings.pollIntervalAtRest,
            settleRestored: settleRestored,
            logger: store.logger
        )
    }

    var database: Database { store.database }
}
