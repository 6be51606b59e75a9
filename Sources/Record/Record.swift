package import Logging
package import Postgres

/// Reads what the other rooms have written: events, the timeline with its verdict, and the audit log.
///
/// The HTTP API asks it for a caller, the webhooks for what to deliver. It writes nothing, but for ``EventStore/settleRestored()``.
package struct Record: Sendable {
    let database: Database
    package let events: EventStore
    package let feed: EventFeed

    /// - Parameters:
    ///   - database: What is read.
    ///   - interval: How often it is asked for new events while somebody waits for them.
    ///   - logger: Gets a line when the database cannot be asked.
    package init(database: Database, interval: Duration, logger: Logger) {
        self.database = database
        events = EventStore(database: database)
        feed = EventFeed(store: events, interval: interval, logger: logger)
    }
}
