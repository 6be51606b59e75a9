import Postgres

/// An activity whose end lies so far back that no phone can show it any more. Whatever is still owed to one is given up,
/// so that nothing is retried for ever.
struct PastActivity: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease
    let range: RingRange
    let activity: ActivitySnapshot

    /// Each ring gives up its own cards; what there is once, the first ring does, or the channel.
    func close() async throws {
        let cards: Query = """
            UPDATE subscriptions SET state = 'over', due_at = NULL, reason = coalesce(reason, '\(unescaped: WatchedCard.expiry)')
            WHERE activity_key = \(activity.key) AND state = 'due'
              AND device_key > \(range.after) AND device_key <= \(range.through)
            """
        _ = try await orchestrator.database.pipeline([cards] + (lease.segment <= SegmentLease.firstRing ? common : []))
    }

    private var common: [Query] {
        [
            StartTurn.abandonment(of: activity.key),
            """
            UPDATE channels SET delete_at = clock_timestamp()
            WHERE activity_key = \(activity.key) AND state = 'ready' AND delete_at IS NULL
            """,
            ChannelTurn.withdrawal(of: activity.key),
        ]
    }
}
