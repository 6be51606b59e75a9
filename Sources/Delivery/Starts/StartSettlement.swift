import ActivityModel
import DeliveryStore
import Logging
import Postgres
import ServiceLifecycle
import Store
import Waiting

/// Stores the outcomes of a batch of claimed starts.
///
/// A start whose answer is lost is sent once more (promise 6). So while the database is away, storing is retried until
/// the claims expire and others may act on them. When the daemon stops there is one more try.
struct StartSettlement: Sendable {
    let room: DeliveryRoom
    let activity: ActivitySnapshot
    let results: StartResults
    /// When the claims are over, as ``OrchestratorSettings/uptime``.
    let end: Duration

    /// Short: others may be ready to repeat the starts as soon as the database is back.
    private static let longestPause = Duration.seconds(2)

    /// Runs in a task of its own: the answers stay true even if the lease is lost meanwhile.
    ///
    /// - Throws: Why they could not be stored; the claims are then without an answer.
    func run() async throws {
        try await Task { try await persist() }.value
    }

    private func persist() async throws {
        let settings = room.settings
        let backoff = Backoff(cap: Self.longestPause, jitter: settings.jitter)
        var failures = 0
        var isLastTry = false
        while true {
            do {
                return try await store(isRepeat: failures > 0)
            } catch {
                failures += 1
                let pause = backoff.delay(afterFailures: failures)
                guard !isLastTry, isPassing(error), settings.uptime() + pause < end else { throw error }
                room.logger.warning(
                    "cannot store what came of starts",
                    metadata: ["activity.key": "\(activity.key)", "error": "\(error)"]
                )
                isLastTry = await !room.hasPaused(for: pause)
            }
        }
    }

    private func store(isRepeat: Bool) async throws {
        try await seeingDeletions {
            // To a registration or a deletion of the same devices.
            try await room.database.withYieldingTransaction {
                try await results.store(for: activity, isRepeat: isRepeat, on: $0)
            }
        }
    }

    /// Whether the same may succeed later: the database is away, or in the way of itself.
    private func isPassing(_ error: any Error) -> Bool {
        (error as? PostgresError)?.code != .closed && Store.problem(for: error) != nil
    }
}
