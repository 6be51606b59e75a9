package import Logging
package import Postgres
package import Store

/// Reads what the other rooms have written: events, the timeline with its verdict, and the audit log.
///
/// The HTTP API asks it for a caller, the webhooks for what to deliver. It writes nothing, but for ``EventStore/settleRestored()``.
package struct Record: Sendable {
    let database: Database
    package let events: EventStore
    package let feed: EventFeed

    /// - Parameters:
    ///   - database: What is read.
    ///   - settings: How often it is asked for new events.
    ///   - logger: Gets a line when the database cannot be asked.
    package init(database: Database, settings: OrchestratorSettings, logger: Logger) {
        self.database = database
        events = EventStore(database: database)
        feed = EventFeed(
            store: events,
            interval: settings.pollInterval,
            atRest: settings.pollIntervalAtRest,
            logger: logger
        )
    }
}
