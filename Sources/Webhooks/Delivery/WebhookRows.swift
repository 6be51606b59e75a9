package import Postgres
import Store

/// The statements that write `webhooks`, for the rooms above.
package enum WebhookRows {
    /// A part of the statement that settles a database restored from a dump. Each webhook continues with the first
    /// event that it has not delivered. Restored events were moved to the transaction `restored`.
    ///
    /// `late` is a common table expression with the columns `webhook_key`, `transaction_id`, `event_id` and
    /// `first_event_id`. The last one is the first restored event behind the webhook's place, if there is one.
    package static func restoration(of late: String, to restored: String) -> Query {
        """
        UPDATE webhooks AS w
        SET (transaction_id, event_id) = (
                SELECT p.transaction_id, p.event_id FROM (VALUES
                    (\(unescaped: late).transaction_id, \(unescaped: late).event_id),
                    (\(restored)::xid8, \(unescaped: late).first_event_id - 1),
                    (\(unescaped: EventVisibility.bound), 0::bigint)
                ) AS p(transaction_id, event_id)
                WHERE p.event_id IS NOT NULL ORDER BY p.transaction_id, p.event_id LIMIT 1
            ),
            version = w.version + 1, message_id = NULL, message_transaction_id = NULL, message_event_id = NULL
        FROM \(unescaped: late) WHERE w.webhook_key = \(unescaped: late).webhook_key
        """
    }
}
