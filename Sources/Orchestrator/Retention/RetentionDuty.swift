import Logging
import Metrics
import Postgres
import ServiceLifecycle
import Store

/// Deletes activities with all that belongs to them when they have been over for as long as they are kept; one daemon
/// at a time.
///
/// A pass goes from the longest ended to the youngest that may go, in short transactions. It holds no place in the
/// database: what is left when a daemon dies, the next pass finds.
struct RetentionDuty: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let interval = Duration.seconds(600)
    /// How long what somebody holds is left alone. Locks last for moments.
    private static let pause = Duration.seconds(1)

    var description: String { "retention-duty" }

    func run() async {
        await repeating("delete old activities", every: Self.interval, logger: orchestrator.logger) {
            while try await pass().isHeld { try await Task.sleep(for: Self.pause) }
        }
    }

    /// One pass; how many activities it deleted.
    func deleteDue() async throws -> Int { try await pass().deleted }

    /// One pass. It ends when all that may go has gone, or another daemon is about it.
    ///
    /// - Returns: How many activities it deleted, and whether it left some that somebody held.
    private func pass() async throws -> (deleted: Int, isHeld: Bool) {
        guard let retention = orchestrator.settings.keptAfterEnd else { return (0, false) }
        var count = 0
        var isHeld = false
        var place: ActivityDeletion.Place? = .oldest
        while let after = place, !Task.isCancelled {
            let beginning = ContinuousClock.now
            let outcome = try await orchestrator.database.withTransaction { connection in
                try await ActivityDeletion(cause: .age(retention), after: after).run(on: connection)
            }
            if outcome.deleted > 0 {
                Counter(label: "tally_activities_deleted_total").increment(by: outcome.deleted)
            }
            count += outcome.deleted
            if outcome.isHeld { isHeld = true }
            place = outcome.next
            // The database has other things to do: it rests for as long as this took.
            if place != nil { try? await Task.sleep(for: beginning.duration(to: .now)) }  // throws only when cancelled
        }
        if count > 0 { orchestrator.logger.info("old activities are deleted", metadata: ["count": "\(count)"]) }
        return (count, isHeld)
    }
}

extension OrchestratorSettings {
    /// How long an activity is kept after its end; nil: for ever. Accepted changes are events, so it is never shorter
    /// than events are kept: a reader who resumes within that time misses none.
    var keptAfterEnd: Duration? { activityRetention.map { max($0, eventRetention) } }
}
