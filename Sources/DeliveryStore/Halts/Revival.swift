import ActivityModel
import Cards
import Postgres
import Registry
import Store

/// Revives suspects: tokens that were rejected on the way to a halt and since. It is not known yet whether they are
/// bad.
///
/// Takes the tokens that were rejected first, at most `limit` of each kind. A probe takes only tokens of its ring. A
/// token that is rejected again comes last the next time, so that each probe meets other tokens.
///
/// Announces the activities of the tokens, for any worker that is free to send to them. The worker of a probe sends to its
/// ring without that.
package struct Revival {
    let scope: HaltScope
    /// The time since which rejected tokens are suspects.
    let suspectFrom: PGTimestamp
    let limit: Int
    /// The ring that a probe is sent to.
    var only: (lease: SegmentLease, range: RingRange)?

    /// The result of a statement.
    struct Batch: Sendable {
        /// Tokens that it has revived.
        let revived: Int
        /// When the last token that it has read was rejected; nil if no suspect was left.
        let last: PGTimestamp?
    }

    static func batch(_ rows: Rows) throws -> Batch {
        let (revived, last) = try rows.first(as: (Int64, PGTimestamp?).self) ?? (Int64(0), nil)
        return Batch(revived: Int(revived), last: last)
    }

    /// For a probe.
    var statements: [Query] { [subscriptions, startTokens] }

    /// Locks the suspects that are still in a state, in the common lock order of cards (``CardKey``).
    private static func held(in state: String) -> String {
        """
        SELECT s.activity_key, s.device_key FROM (SELECT * FROM suspects ORDER BY activity_key, device_key) AS r
        CROSS JOIN LATERAL (
            SELECT activity_key, device_key FROM subscriptions AS c
            WHERE c.activity_key = r.activity_key AND c.device_key = r.device_key AND c.state::text = '\(state)'
            FOR NO KEY UPDATE
        ) AS s
        """
    }

    /// Revives update tokens. Each card is served by its own row first, like any that missed something.
    var subscriptions: Query {
        """
        WITH suspects AS MATERIALIZED (
            SELECT s.activity_key, s.device_key, s.rejected_at FROM subscriptions AS s JOIN activities AS a USING (activity_key)
            WHERE \(part: scope.contains("a"))
              AND s.state = 'rejected' AND \(part: StandingHalt.isSuspect("s.rejected_at", since: suspectFrom))
              AND (\(only == nil) OR (s.activity_key = \(only?.lease.activityKey)
                  AND s.device_key > \(only?.range.after) AND s.device_key <= \(only?.range.through)))
            ORDER BY s.rejected_at LIMIT \(limit)
        ), held AS MATERIALIZED (
            \(unescaped: Self.held(in: "rejected"))
        ), revived AS (
            \(unescaped: SubscriptionRows.revival(of: "held"))
        ), told AS (
            \(unescaped: SegmentRows.announcement(ofDueAmong: "revived")) HAVING \(only == nil)
        )
        SELECT (SELECT count(*) FROM revived), (SELECT max(rejected_at) FROM suspects)
        """
    }

    /// Cards whose app could not decode the newest state when their tokens were suspects are tried when it can again.
    var withheld: Query {
        """
        WITH suspects AS MATERIALIZED (
            SELECT s.activity_key, s.device_key, s.rejected_at FROM subscriptions AS s JOIN activities AS a USING (activity_key)
            WHERE \(part: scope.contains("a"))
              AND s.state = 'withheld' AND s.rejected_at IS NOT NULL
              AND \(part: StandingHalt.isSuspect("s.rejected_at", since: suspectFrom))
            ORDER BY s.rejected_at LIMIT \(limit)
        ), held AS MATERIALIZED (
            \(unescaped: Self.held(in: "withheld"))
        ), forgiven AS (
            \(unescaped: SubscriptionRows.forgiveness(of: "held"))
        )
        SELECT (SELECT count(*) FROM forgiven), (SELECT max(rejected_at) FROM suspects)
        """
    }

    /// Revives device tokens, which have no ring that could probe them. Locks their devices in the common order.
    var deviceTokens: Query {
        """
        WITH suspects AS MATERIALIZED (
            SELECT device_key, token_rejected_at FROM devices
            WHERE \(part: scope.contains("devices"))
              AND \(part: StandingHalt.isSuspect("token_rejected_at", since: suspectFrom))
            ORDER BY token_rejected_at LIMIT \(limit)
        ), held AS MATERIALIZED (
            SELECT d.device_key FROM (SELECT device_key FROM suspects ORDER BY device_key) AS r
            \(unescaped: DeviceRows.held(by: "r"))
        ), revived AS (
            \(unescaped: DeviceTokens.revival(of: "held"))
        )
        SELECT (SELECT count(*) FROM revived), (SELECT max(token_rejected_at) FROM suspects)
        """
    }

    /// Revives start tokens, and tries their starts again.
    var startTokens: Query {
        """
        WITH suspects AS MATERIALIZED (
            SELECT t.device_key, t.type_name, t.rejected_at FROM start_tokens AS t JOIN devices AS d USING (device_key)
            WHERE \(part: scope.contains("d"))
              AND t.state = 'rejected' AND \(part: StandingHalt.isSuspect("t.rejected_at", since: suspectFrom))
              AND (\(only == nil) OR EXISTS (
                  SELECT FROM starts AS s JOIN activities AS a USING (activity_key)
                  WHERE \(only?.lease.isFirstRing) AND s.activity_key = \(only?.lease.activityKey) AND s.device_key = t.device_key
                    AND \(unescaped: StartRows.waitsForToken("s")) AND a.type_name = t.type_name AND a.state = 'live' OFFSET 0
              ))
            ORDER BY t.rejected_at LIMIT \(limit)
        ), revived AS (
            \(unescaped: StartTokenRows.revival(of: "suspects"))
        ), tried_again AS (
            \(unescaped: StartRows.revival(ofTokens: "revived"))
        ), told AS (
            -- The worker of the probe sends its own starts. Other activities may have some with the same tokens.
            \(unescaped: SegmentRows.announcement(ofActivitiesIn: "tried_again"))
            WHERE activity_key IS DISTINCT FROM \(only?.lease.activityKey)
        )
        SELECT (SELECT count(*) FROM revived), (SELECT max(rejected_at) FROM suspects)
        """
    }
}
