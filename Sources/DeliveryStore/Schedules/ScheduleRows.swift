package import ActivityModel
package import Postgres
package import Store

/// How the rows of `schedules` are written.
package enum ScheduleRows {
    // MARK: Insertion

    /// The statement that inserts what Tally makes later of new activities.
    ///
    /// - Parameter schedules: The columns `activity_key`, `bundle_id`, `kind`; `due_at`, the time of the change;
    ///   `silence_seconds`, after how much silence an end comes, null if it comes at its time; `request_id` and
    ///   `traceparent`. Silence counts from `due_at` on, null: from now on.
    /// - Returns: The statement.
    package static func insertion(_ schedules: [RowColumn]) -> Query {
        """
        INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body, silence_seconds, request_id, traceparent)
        SELECT u.activity_key, u.bundle_id, u.kind::schedule_kind,
               CASE WHEN u.silence_seconds IS NULL THEN u.due_at
                   ELSE greatest(u.due_at, clock_timestamp()) + u.silence_seconds * interval '1 second' END,
               '{}', u.silence_seconds, u.request_id, u.traceparent
        FROM \(rows: schedules) AS u
        """
    }

    /// The statement that keeps a change of an activity until its time, unless the activity has ended. `body` is the
    /// JSON of the request. It returns the id of the schedule.
    package static func insertion(
        _ kind: ChangeKind,
        at time: PGTimestamp,
        body: String,
        activityKey: Int64,
        origin: RequestOrigin?
    ) -> Query {
        """
        INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body, request_id, traceparent)
        SELECT activity_key, bundle_id, \(kind.rawValue)::schedule_kind, \(time),
               \(body)::json, \(origin?.requestID), \(origin?.trace?.description)
        FROM activities WHERE activity_key = \(activityKey) AND state <> 'ended'
        RETURNING schedule_id::text
        """
    }

    // MARK: Cancellation

    /// The statement for activities that have ended: nothing of them is scheduled any more.
    package static func cancellation(ofEnded activityKeys: [Int64]) -> Query {
        """
        WITH open AS MATERIALIZED (
            SELECT s.schedule_id FROM unnest(\(activityKeys)) AS r(activity_key)
            CROSS JOIN LATERAL (
                SELECT schedule_id FROM schedules
                WHERE activity_key = r.activity_key AND state::text = 'pending' OFFSET 0
            ) AS s
        )
        UPDATE schedules SET state = 'cancelled', settled_at = clock_timestamp(), lease_until = NULL,
            reason = 'activity_ended'
        WHERE schedule_id = ANY(ARRAY(SELECT schedule_id FROM open)) AND state::text = 'pending'
        """
    }

    /// The statement that cancels a schedule of an app if it has not run.
    package static func cancellation(of id: String, app: BundleID) -> Query {
        """
        UPDATE schedules AS s SET state = 'cancelled', settled_at = clock_timestamp(), lease_until = NULL
        FROM activities AS a
        WHERE a.activity_key = s.activity_key AND a.bundle_id = \(app.rawValue)
          AND s.schedule_id = \(id)::uuid AND s.state = 'pending'
        """
    }
}
