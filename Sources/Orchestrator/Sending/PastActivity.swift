import Postgres

/// An activity whose end lies so far back that no phone can show it any more. Whatever is still owed to one is given up,
/// so that nothing is retried for ever.
struct PastActivity: Sendable {
    let orchestrator: Orchestrator
    let activity: ActivitySnapshot

    func close() async throws {
        _ = try await orchestrator.database.pipeline([
            """
            UPDATE subscriptions SET state = 'over', due_at = NULL, reason = coalesce(reason, 'expired')
            WHERE activity_key = \(activity.key) AND state = 'due'
            """,
            StartTurn.abandonment(of: activity.key),
            """
            UPDATE channels SET delete_at = clock_timestamp()
            WHERE activity_key = \(activity.key) AND state = 'ready' AND delete_at IS NULL
            """,
            ChannelTurn.withdrawal(of: activity.key),
        ])
    }
}
