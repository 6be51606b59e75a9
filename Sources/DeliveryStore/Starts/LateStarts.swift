import ActivityModel
import Channels
package import Postgres
import Store

/// Phones whose start has left, and whose card may listen to the channel only later.
///
/// APNs' 200 does not say that the card listens. The phone may be offline until the start expires, and miss what is
/// broadcast meanwhile. So when the youngest start has expired, the newest broadcast is repeated once if it is newer
/// than the starts. The channel of an ended activity is deleted only after that. A start whose outcome is unknown counts
/// as well.
package enum LateStarts {
    /// How long a phone needs at most from the start to the subscription.
    private static let subscribing = Duration.seconds(30)

    /// The statement for starts that are about to leave with a revision; for the transaction that claims them. The
    /// channel's worker is woken for the first ones.
    package static func begin(of activity: ActivitySnapshot) -> Query {
        // The expiration counts from the stamp. The stamp may be ahead of a clock that was set back.
        let time = Duration.seconds(activity.policy.expiration.start) + subscribing
        let kept = ChannelRows.noteStarts(
            onChannelsIn: "held",
            of: activity.key,
            with: activity.newest,
            expiringAfter: time
        )
        let begun: Query = """
            SELECT \(activity.key) FROM held
            WHERE starts_until IS NULL OR starts_until <= clock_timestamp()
            """
        return """
            WITH held AS MATERIALIZED (
                SELECT channel_id, starts_until FROM channels AS c
                WHERE activity_key = \(activity.key) AND \(unescaped: ChannelStanding.isReady("c"))
                FOR NO KEY UPDATE
            ), kept AS (
                \(part: kept)
            )
            \(part: SegmentRows.announcement(of: begun))
            """
    }

    /// An SQL expression: when the channel of the activity `a`, which has broadcast the revision `completed`, has to repeat
    /// that, if ever.
    static func due(at completed: String) -> String {
        """
        (SELECT c.starts_until FROM channels AS c
         WHERE c.activity_key = a.activity_key AND \(ChannelStanding.isReady("c"))
           AND c.starts_from < \(completed))
        """
    }
}
