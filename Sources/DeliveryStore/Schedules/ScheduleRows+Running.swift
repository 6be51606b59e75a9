package import Postgres

// How schedules are claimed, put off and settled.
extension ScheduleRows {
    /// The statement that leases schedules which are due, at most `limit`, those that wait longest first.
    ///
    /// The schedules of one activity run one after the other in the order of their times. But an end passes schedules
    /// that were tried and have to wait, and those behind them (promise 5). A start passes all others, because they may
    /// wait for what it sends.
    ///
    /// `lease`: how long they are left to the daemon that runs them. `columns`: what the statement returns of the
    /// schedule `s` and its activity `a`.
    package static func claim(limit: Int, lease: Duration, returning columns: String) -> Query {
        """
        WITH due AS MATERIALIZED (
            SELECT schedule_id FROM schedules AS s
            WHERE state = 'pending' AND due_at <= now() AND (lease_until IS NULL OR lease_until < now())
              AND NOT EXISTS (
                  SELECT FROM schedules AS e
                  WHERE e.activity_key = s.activity_key AND e.state = 'pending' AND s.kind <> 'start'
                    AND (e.due_at, e.kind, e.created_at, e.schedule_id) < (s.due_at, s.kind, s.created_at, s.schedule_id)
                    AND NOT (s.kind = 'end' AND EXISTS (
                        SELECT FROM schedules AS w
                        WHERE w.activity_key = e.activity_key AND w.state = 'pending' AND w.reason IS NOT NULL
                          AND (w.due_at, w.kind, w.created_at, w.schedule_id)
                              <= (e.due_at, e.kind, e.created_at, e.schedule_id)
                    ))
              )
            ORDER BY due_at LIMIT \(limit) FOR NO KEY UPDATE SKIP LOCKED
        )
        UPDATE schedules AS s SET lease_until = clock_timestamp() + \(lease)
        FROM due, activities AS a
        WHERE s.schedule_id = due.schedule_id AND a.activity_key = s.activity_key
        RETURNING \(unescaped: columns)
        """
    }

    /// The statement that moves those of some silence limits which are not reached, and returns their ids; it touches
    /// no other schedule.
    package static func postponement(of scheduleIDs: [String]) -> Query {
        """
        UPDATE schedules AS s SET due_at = \(unescaped: SilenceLimit.limit), lease_until = NULL
        WHERE s.schedule_id = ANY(\(scheduleIDs)::uuid[]) AND s.state = 'pending'
          AND NOT \(unescaped: SilenceLimit.isReached)
        RETURNING s.schedule_id::text
        """
    }

    /// The statement for activities whose newest state was posted again: it puts their silence limits off. Who posts it
    /// every second causes one write in a tenth of the limit. It waits for nobody: who holds a schedule may wait for
    /// another that this transaction holds.
    package static func signOfLife(of activityKeys: [Int64]) -> Query {
        """
        WITH heard AS MATERIALIZED (
            SELECT s.schedule_id FROM unnest(\(activityKeys)) AS r(activity_key)
            CROSS JOIN LATERAL (
                SELECT s.schedule_id FROM schedules AS s
                WHERE s.activity_key = r.activity_key AND s.state::text = 'pending' AND s.silence_seconds IS NOT NULL
                  AND (s.heard_at IS NULL OR s.heard_at <= clock_timestamp() - \(unescaped: SilenceLimit.tenth))
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS s
        )
        UPDATE schedules SET heard_at = clock_timestamp()
        WHERE schedule_id = ANY(ARRAY(SELECT schedule_id FROM heard))
        """
    }

    /// The statement for a schedule that could not be run: it stays pending, and is left alone for a while. The reason
    /// lets an end pass it.
    package static func pause(of scheduleID: String, _ pause: Duration, reason: String) -> Query {
        """
        UPDATE schedules SET reason = \(reason), lease_until = clock_timestamp() + \(pause)
        WHERE schedule_id = \(scheduleID)::uuid AND state = 'pending'
        """
    }

    /// The statement that holds those of some schedules that may run now, in the order of their ids. It returns their
    /// ids.
    package static func hold(runnable scheduleIDs: [String]) -> Query {
        """
        SELECT s.schedule_id::text FROM (SELECT unnest(\(scheduleIDs)::uuid[]) AS id ORDER BY id) AS r
        CROSS JOIN LATERAL (
            SELECT s.schedule_id FROM schedules AS s
            WHERE s.schedule_id = r.id AND s.state::text = 'pending' AND \(unescaped: SilenceLimit.isReached)
            FOR NO KEY UPDATE
        ) AS s
        """
    }

    /// The statement that settles schedules whose changes are accepted.
    package static func settlement(of scheduleIDs: [String]) -> Query {
        """
        UPDATE schedules SET state = 'done', settled_at = clock_timestamp(), lease_until = NULL, reason = NULL
        WHERE schedule_id = ANY(\(scheduleIDs)::uuid[])
        """
    }

    /// A part of a statement: it settles the schedule of a start, unless it is settled already. It returns the
    /// `activity_key`.
    package static func run(_ scheduleID: String) -> Query {
        """
        UPDATE schedules SET state = 'done', settled_at = clock_timestamp(), lease_until = NULL, reason = NULL
        WHERE schedule_id = \(scheduleID)::uuid AND state = 'pending'
        RETURNING activity_key
        """
    }

    /// A part of a statement: it settles a schedule whose change is refused. It returns what an event says of it, with
    /// the `activity_key` and a `device_key` that is null.
    package static func failure(of scheduleID: String, reason: String) -> Query {
        """
        UPDATE schedules
        SET state = 'failed', settled_at = clock_timestamp(), lease_until = NULL, reason = \(reason)
        WHERE schedule_id = \(scheduleID)::uuid AND state = 'pending'
        RETURNING activity_key, NULL::bigint AS device_key, schedule_id, kind, due_at, reason
        """
    }
}
