import ActivityModel
package import Postgres

/// The statements, and parts of them, that write `changes`.
package enum ChangeRows {
    /// The statement that inserts the first changes of new activities.
    ///
    /// - Parameter changes: The columns `activity_key`, `content_state`, `alert`, `urgency`; `timestamp`, null if the
    ///   activity waits for its time; `request_id`, `traceparent`, and those of ``CardHints/rows(_:)``.
    /// - Returns: The statement.
    package static func insertion(ofFirst changes: [RowColumn]) -> Query {
        """
        INSERT INTO changes (activity_key, revision, kind, content_state, alert, urgency, timestamp, stamped_at,
            accepted_at, request_id, traceparent, \(unescaped: CardHints.columns))
        SELECT u.activity_key, 1, 'start', u.content_state, u.alert, u.urgency::urgency, u.timestamp,
               CASE WHEN u.timestamp IS NOT NULL THEN clock_timestamp() END, clock_timestamp(),
               u.request_id, u.traceparent, \(unescaped: CardHints.columns)
        FROM \(rows: changes) AS u
        """
    }

    /// The statement that inserts accepted updates and ends.
    ///
    /// - Parameter changes: The columns `activity_key`, `revision`, `kind`, `content_state`, `alert`, `urgency`,
    ///   `must_deliver`, `dismiss_after` and `min_interval` (seconds), `dismiss_at`, `event_time`, `timestamp`,
    ///   `with_segment`, `request_id`, `traceparent`, and those of ``CardHints/rows(_:)``. `timestamp` is null until
    ///   the change is stamped. A change `with_segment` counts as sent once the first ring has completed it.
    /// - Returns: The statement.
    package static func insertion(_ changes: [RowColumn]) -> Query {
        """
        INSERT INTO changes (activity_key, revision, kind, content_state, alert, urgency, must_deliver,
            dismiss_after_seconds, dismiss_at, event_time, timestamp, stamped_at, accepted_at, min_interval_seconds,
            sent_with_ring, request_id, traceparent, \(unescaped: CardHints.columns))
        SELECT u.activity_key, u.revision, u.kind::change_kind, u.content_state, u.alert, u.urgency::urgency,
               u.must_deliver, u.dismiss_after, u.dismiss_at, u.event_time, u.timestamp,
               CASE WHEN u.timestamp IS NOT NULL THEN clock_timestamp() END, clock_timestamp(), u.min_interval,
               u.with_segment, u.request_id, u.traceparent, \(unescaped: CardHints.columns)
        FROM \(rows: changes) AS u
        """
    }

    /// A part of a statement: it stamps the newest changes of activities that begin. `activities` is a table of their
    /// `activity_key`, `revision` and `stamp`.
    package static func stamp(from activities: String) -> String {
        """
        UPDATE changes AS c SET timestamp = \(activities).stamp, stamped_at = clock_timestamp()
        FROM \(activities) WHERE c.activity_key = \(activities).activity_key AND c.revision = \(activities).revision
        """
    }

    /// A part of a statement: it records the changes between the first and the newest as merged into the newest.
    /// `activities` is a table of their `activity_key` and `revision`. It returns the columns that
    /// `EventRows.merge(from:)` reads.
    package static func passOver(from activities: String) -> String {
        """
        UPDATE changes AS c SET merged_into = \(activities).revision FROM \(activities)
        WHERE c.activity_key = \(activities).activity_key AND c.revision > 1 AND c.revision < \(activities).revision
          AND c.merged_into IS NULL
        RETURNING c.activity_key, c.revision, c.merged_into
        """
    }
}
