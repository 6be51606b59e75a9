import APITypes
import Postgres
import Store

/// What became of the channels of an activity, for ``ActivityVerdict`` to judge.
struct ChannelHistory: Sendable, Hashable {
    /// Whether Apple has not made the channel yet that is to serve the activity.
    var isAwaited = false
    /// What Apple answered to the last request for that channel.
    var refusal: String?
    /// When the last loss of a channel was found; nil: none was lost.
    var lostAt: Instant?
    /// Whether another channel serves the activity since.
    var isReplaced = false

    static func read(_ activityKey: Int64, on connection: PostgresConnection) async throws -> ChannelHistory {
        let rows = try await connection.query(
            """
            SELECT \(unescaped: ChannelStanding.isAwaited("c")), \(unescaped: ChannelStanding.serves("c")), c.reason, c.lost_at
            FROM channels AS c WHERE c.activity_key = \(activityKey) ORDER BY \(unescaped: ChannelStanding.servingFirst("c"))
            """
        )
        var history = ChannelHistory()
        for (isAwaited, serves, reason, lostAt) in try rows.decoded(as: (Bool, Bool, String?, Instant?).self) {
            if isAwaited { (history.isAwaited, history.refusal) = (true, reason) }
            if serves { history.isReplaced = true }
            // The last loss comes first.
            history.lostAt = history.lostAt ?? lostAt
        }
        return history
    }
}
