import ActivityModel
import Postgres

/// Gives tokens back that were rejected on the way to a halt and since: suspects, of which nothing is known yet.
///
/// Without a probe their activities are announced, for whoever is free to send to them.
struct Revival {
    let scope: HaltScope
    let suspectFrom: PGTimestamp
    /// Only a few of each kind, and of what this ring holds: for a probe.
    var only: Probe?

    struct Probe {
        let lease: SegmentLease
        let range: RingRange
    }

    /// What a probe takes of some tokens. One that is rejected again comes last the next time, so that one probe after
    /// the other meets others.
    private static func firstRejected(of tokens: String) -> String {
        "ORDER BY \(tokens).rejected_at LIMIT \(AnswerWatch.probeSize)"
    }

    /// In which everybody locks cards.
    private static let order = "ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s"

    /// First the update tokens, last the start tokens and their starts.
    var statements: [Query] { [subscriptions] + (only == nil ? [withheld] : []) + [startTokens] }

    /// Each is served by its own row first, like any that missed something.
    private var subscriptions: Query {
        """
        WITH suspects AS MATERIALIZED (
            SELECT s.activity_key, s.device_key FROM subscriptions AS s JOIN activities AS a USING (activity_key)
            WHERE a.bundle_id = \(scope.app.rawValue) AND a.environment = \(scope.environment.rawValue)::apns_environment
              AND s.state = 'rejected' AND s.rejected_at >= \(suspectFrom)
              AND (\(only == nil) OR (s.activity_key = \(only?.lease.activityKey)
                  AND s.device_key > \(only?.range.after) AND s.device_key <= \(only?.range.through)))
            \(unescaped: only == nil ? Self.order : Self.firstRejected(of: "s"))
        ), revived AS (
            UPDATE subscriptions AS s
            SET state = 'due', due_at = clock_timestamp(), failures = 0, reason = NULL
            FROM suspects AS r
            WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key AND s.state = 'rejected'
            RETURNING s.activity_key, s.device_key, s.state
        ), told AS (
            \(unescaped: SegmentStore.announcement(ofDueAmong: "revived")) HAVING \(only == nil)
        )
        SELECT FROM revived
        """
    }

    /// Cards whose app could not decode the newest state when their tokens were suspects are tried when it can again.
    private var withheld: Query {
        """
        UPDATE subscriptions AS s SET rejected_at = NULL
        FROM activities AS a JOIN activity_app_versions AS v USING (activity_key)
        WHERE a.bundle_id = \(scope.app.rawValue) AND a.environment = \(scope.environment.rawValue)::apns_environment
          AND v.is_withheld AND s.activity_key = a.activity_key AND s.state = 'withheld' AND s.rejected_at >= \(suspectFrom)
        """
    }

    private var startTokens: Query {
        """
        WITH suspects AS MATERIALIZED (
            SELECT t.device_key, t.type_name FROM start_tokens AS t JOIN devices AS d USING (device_key)
            WHERE d.bundle_id = \(scope.app.rawValue) AND d.environment = \(scope.environment.rawValue)::apns_environment
              AND t.state = 'rejected' AND t.rejected_at >= \(suspectFrom)
              AND (\(only == nil) OR EXISTS (
                  SELECT FROM starts AS s JOIN activities AS a USING (activity_key)
                  WHERE \(only?.lease.isFirstRing) AND s.activity_key = \(only?.lease.activityKey) AND s.device_key = t.device_key AND s.state = 'failed'
                    AND a.type_name = t.type_name AND a.state = 'live'
              ))
            \(unescaped: only == nil ? "" : Self.firstRejected(of: "t"))
        ), revived AS (
            UPDATE start_tokens AS t SET state = 'live' FROM suspects AS r
            WHERE t.device_key = r.device_key AND t.type_name = r.type_name AND t.state = 'rejected'
            RETURNING t.device_key, t.type_name
        ), tried_again AS (
            UPDATE starts AS s SET state = 'pending', due_at = clock_timestamp(), failures = 0, reason = NULL
            FROM revived AS r, activities AS a
            WHERE s.device_key = r.device_key AND s.state = 'failed' AND a.activity_key = s.activity_key
              AND a.type_name = r.type_name AND a.state = 'live'
            RETURNING s.activity_key
        ), told AS (
            INSERT INTO wake_ups (activity_key) SELECT DISTINCT activity_key FROM tried_again WHERE \(only == nil)
        )
        SELECT FROM revived
        """
    }
}
