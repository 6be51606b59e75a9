import DeliveryStore
import Postgres
import Record
import Store
import Webhooks

/// Settles the order of events in a database that was restored from a dump.
struct RestoredEvents: Sendable {
    let database: Database

    /// After a restore from a dump, the database counts transactions anew. This moves events with larger numbers before
    /// all others. A webhook goes on with the first of them that it has not delivered.
    ///
    /// It is one statement, because its parts must agree about which numbers are too large.
    func settle() async throws {
        let restored = String(EventCursor.restored)
        _ = try await database.execute(
            """
            WITH moved_events AS (
                \(part: EventRows.restoration(to: restored))
            ), moved_changes AS (
                \(part: ChangeRows.restoration(to: restored))
            ), late AS (
                SELECT w.webhook_key, w.transaction_id, w.event_id, undelivered.event_id AS first_event_id
                FROM webhooks AS w CROSS JOIN LATERAL (
                    SELECT min(u.event_id) AS event_id FROM (
                        SELECT event_id FROM events
                        WHERE (transaction_id, event_id) > (w.transaction_id, w.event_id)
                          AND \(unescaped: EventVisibility.isAhead("transaction_id"))
                        UNION ALL
                        SELECT event_id FROM changes
                        WHERE (transaction_id, event_id) > (w.transaction_id, w.event_id)
                          AND \(unescaped: EventVisibility.isAhead("transaction_id"))
                    ) AS u
                ) AS undelivered
                WHERE undelivered.event_id IS NOT NULL OR \(unescaped: EventVisibility.isAhead("w.transaction_id"))
            )
            \(part: WebhookRows.restoration(of: "late", to: restored))
            """
        )
    }
}
