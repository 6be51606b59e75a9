package import ActivityModel
package import Postgres
import Store

extension SubscriptionRows {
    /// The card of a start that APNs has accepted.
    package struct Started: Sendable {
        let deviceKey: Int64
        /// `token` or `channel`.
        let mode: String
        let frequent: Bool
        /// When its start was claimed.
        let claimedAt: PGTimestamp
        /// How long after that time gives something to do for it; nil: never.
        let checkAfter: Duration?

        package init(deviceKey: Int64, mode: String, frequent: Bool, claimedAt: PGTimestamp, checkAfter: Duration?) {
            self.deviceKey = deviceKey
            self.mode = mode
            self.frequent = frequent
            self.claimedAt = claimedAt
            self.checkAfter = checkAfter
        }
    }

    /// The statement that makes the cards of starts which APNs has accepted. The starts brought the revision `newest`.
    /// `endsOnUnfollow`: the card of a device that leaves the audience by its topics is ended.
    ///
    /// A phone on the channel whose start was on its way while something newer was broadcast may have missed that.
    ///
    /// A card that this start continues keeps its row until the phone reports the new one (``Continuations``).
    ///
    /// Cards that were reported before this are left out if their devices had left the audience by their topics. They
    /// may be ended and forgotten already.
    package static func insertion(
        of started: [Started],
        in activityKey: Int64,
        knowing newest: Revision,
        endsOnUnfollow: Bool
    ) -> Query {
        let started = started.sorted { $0.deviceKey < $1.deviceKey }
        return """
            INSERT INTO subscriptions (activity_key, device_key, mode, state, frequent, known_revision, due_at, started_at,
                check_at, leaving)
            SELECT a.activity_key, r.device_key, r.mode::subscription_mode, v.state, r.frequent, \(newest),
                   CASE v.state WHEN 'due' THEN clock_timestamp() END, r.claimed_at, r.claimed_at + r.check_after,
                   \(unescaped: endsOnUnfollow ? hasLeftByTopics : "false")
            FROM unnest(
                \(started.map(\.deviceKey)), \(started.map(\.mode)), \(started.map(\.frequent)),
                \(started.map(\.claimedAt)), \(started.map(\.checkAfter))
            ) AS r(device_key, mode, frequent, claimed_at, check_after)
            JOIN activities AS a ON a.activity_key = \(activityKey)
            CROSS JOIN LATERAL (
                SELECT CASE WHEN r.mode = 'token' THEN 'waiting_for_token'::subscription_state
                    WHEN a.revision > \(newest) THEN 'due' ELSE 'riding' END AS state
            ) AS v
            WHERE NOT (
                \(endsOnUnfollow)
                AND \(unescaped: TopicFollowing.isAsked(by: "a.activity_key"))
                AND EXISTS (
                    SELECT FROM starts AS o
                    WHERE o.activity_key = a.activity_key AND o.device_key = r.device_key AND o.state = 'cancelled'
                    OFFSET 0)
            )
            ON CONFLICT (activity_key, device_key) DO NOTHING
            """
    }

    /// SQL of whether a card is to end as soon as it reports its token: its device left the audience by its topics
    /// while the start was on its way. Then there was no card yet that the change of topics could end. The starts are
    /// locked here and there, so one of the two sees the other.
    private static let hasLeftByTopics = """
        r.mode = 'token' AND \(TopicFollowing.isAsked(by: "a.activity_key")) AND NOT coalesce((
            SELECT \(AudienceCoverage.condition) FROM devices AS d WHERE d.device_key = r.device_key OFFSET 0
        ), true)
        """
}
