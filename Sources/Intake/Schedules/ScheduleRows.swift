package import ActivityModel
package import Postgres
import Store

/// How the rows of `schedules` are written.
package enum ScheduleRows {
    // MARK: Insertion

    /// A change that Tally makes later by itself.
    struct New {
        let activityKey: Int64
        let app: BundleID
        let kind: ChangeKind
        /// Its time; or the time from which silence counts, nil: now.
        let dueAt: PGTimestamp?
        /// After how much silence an end comes; nil: it comes at its time.
        var silenceSeconds: Int32?
        /// Nil for the start, which has the origin already.
        var origin: RequestOrigin?
    }

    /// The statement that inserts what Tally makes later of new activities.
    static func insertion(_ schedules: [New]) -> Query {
        """
        INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body, silence_seconds, request_id, traceparent)
        SELECT u.activity_key, u.bundle_id, u.kind::schedule_kind,
               CASE WHEN u.silence_seconds IS NULL THEN u.due_at
                   ELSE greatest(u.due_at, clock_timestamp()) + u.silence_seconds * interval '1 second' END,
               '{}', u.silence_seconds, u.request_id, u.traceparent
        FROM \(rows: [
            .each("activity_key", schedules.map(\.activityKey)),
            .each("bundle_id", schedules.map(\.app.rawValue)),
            .each("kind", schedules.map(\.kind.rawValue)),
            .each("due_at", schedules.map(\.dueAt)),
            .each("silence_seconds", schedules.map(\.silenceSeconds)),
            .each("request_id", schedules.map { $0.origin?.requestID }),
            .each("traceparent", schedules.map { $0.origin?.trace?.description }),
        ]) AS u
        """
    }

    /// The statement that keeps a change of an activity until its time, unless the activity has ended. `body` is the
    /// JSON of the request. It returns the id of the schedule.
    static func insertion(
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
    static func cancellation(ofEnded activityKeys: [Int64]) -> Query {
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
