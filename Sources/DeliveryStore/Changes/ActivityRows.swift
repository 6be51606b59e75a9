package import Postgres

/// The statements, and parts of them, that write `activities`.
package enum ActivityRows {
    /// The statement that holds an activity until the transaction ends: nobody else changes its row meanwhile, or accepts
    /// a change.
    package static func hold(_ activityKey: Int64) -> Query {
        "SELECT FROM activities WHERE activity_key = \(activityKey) FOR NO KEY UPDATE"
    }

    /// The statement that holds activities in the order of their keys, in which everybody locks several. It returns the
    /// keys of those that it holds. Unless it `isPatient`, it leaves out those that somebody else has locked.
    package static func hold(_ activityKeys: [Int64], isPatient: Bool) -> Query {
        """
        SELECT activity_key FROM activities WHERE activity_key = ANY(\(activityKeys))
        ORDER BY activity_key FOR NO KEY UPDATE \(unescaped: isPatient ? "" : "SKIP LOCKED")
        """
    }

    // MARK: Starts

    /// The statement that inserts activities, except those whose ids are taken. Those that do not start later are live
    /// at once. Starts come in the order of their names: two groups with the same ids never wait for each other.
    ///
    /// - Parameter starts: The columns `activity_id`, `bundle_id`, `environment`, `type_name`, `delivery`,
    ///   `attributes`, `start_body`, `audience_all`, `enrolment_due`, `starts_at` and `ends_at`.
    /// - Returns: The statement. It returns `activity_key`, `bundle_id`, `activity_id`, `state` and `stamp` of each
    ///   activity that it has inserted.
    package static func insertion(_ starts: [RowColumn]) -> Query {
        """
        INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes, start_body,
            audience_all, enrolment_due, stamp, starts_at, ends_at, started_at)
        SELECT u.bundle_id, u.activity_id, u.environment::apns_environment, u.type_name, u.delivery::delivery_mode,
               CASE WHEN clock.later THEN 'scheduled'::activity_state ELSE 'live' END, u.attributes, u.start_body,
               u.audience_all, u.enrolment_due,
               CASE WHEN clock.later THEN 0 ELSE floor(extract(epoch FROM clock_timestamp()))::int8 END,
               u.starts_at, u.ends_at, CASE WHEN NOT clock.later THEN clock_timestamp() END
        FROM \(rows: starts) AS u
        CROSS JOIN LATERAL (SELECT coalesce(u.starts_at > clock_timestamp(), false) AS later) AS clock
        ON CONFLICT (bundle_id, activity_id) DO NOTHING
        RETURNING activity_key, bundle_id, activity_id, state::text, stamp
        """
    }

    /// A part of a statement: it makes scheduled activities live, with a stamp of now. `keys` is a table of
    /// their `activity_key`. It returns the `activity_key`, `revision` and `stamp` of each.
    package static func begin(from keys: String) -> String {
        """
        UPDATE activities AS a
        SET state = 'live', started_at = clock_timestamp(),
            stamp = greatest(a.stamp + 1, floor(extract(epoch FROM clock_timestamp()))::int8)
        FROM \(keys) WHERE a.activity_key = \(keys).activity_key AND a.state = 'scheduled'
        RETURNING a.activity_key, a.revision, a.stamp
        """
    }

    // MARK: Changes

    /// The statement that advances activities after accepted changes.
    ///
    /// - Parameter standings: The columns `activity_key`; `revision`, the newest; `stamp`; `event_time` in
    ///   microseconds, if a change brought one; and `ended`.
    /// - Returns: The statement.
    package static func advance(_ standings: [RowColumn]) -> Query {
        """
        UPDATE activities AS a
        SET revision = u.revision, stamp = greatest(a.stamp, u.stamp),
            event_time = coalesce('epoch'::timestamptz + u.event_time * interval '1 microsecond', a.event_time),
            state = CASE WHEN u.ended THEN 'ended'::activity_state ELSE a.state END,
            ended_at = CASE WHEN u.ended THEN coalesce(a.ended_at, clock_timestamp()) ELSE a.ended_at END
        FROM \(rows: standings) AS u
        WHERE a.activity_key = u.activity_key
        """
    }

    // MARK: Audiences

    /// The statement that keeps the alert of later starts of an activity; `alert` is its JSON.
    package static func setStartAlert(_ alert: String, activityKey: Int64) -> Query {
        "UPDATE activities SET start_alert = \(alert)::json WHERE activity_key = \(activityKey)"
    }

    /// The statement that makes an activity due for enrolment, because its audience has new members. `withAll` adds all
    /// devices with the type. Then the enrolment starts again from the first device.
    package static func enrol(withAll: Bool, activityKey: Int64) -> Query {
        """
        UPDATE activities SET enrolment_due = true, audience_all = audience_all OR \(withAll),
            enrolled_devices = CASE WHEN \(withAll) THEN least(enrolled_devices, 0) - 1 ELSE enrolled_devices END
        WHERE activity_key = \(activityKey)
        """
    }

    /// The statement for an audience that does not cover all devices with the type any more.
    package static func withdrawAll(activityKey: Int64) -> Query {
        "UPDATE activities SET audience_all = false WHERE activity_key = \(activityKey)"
    }

    // MARK: Deletion

    /// The end of a statement: it deletes activities. Foreign keys delete their other rows, except channels: a channel
    /// that may still be at Apple keeps its activity. `keys` is a table of their `activity_key`.
    package static func deletion(from keys: String) -> String {
        "DELETE FROM activities AS a USING \(keys) WHERE a.activity_key = \(keys).activity_key"
    }
}
