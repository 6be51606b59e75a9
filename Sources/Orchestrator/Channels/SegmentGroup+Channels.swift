import APNSTransport
import ActivityModel
import Postgres
import Store

/// How a group has channels made.
extension SegmentGroup {
    /// Has Apple make a channel. That is not idempotent: after a lost answer one may be left at Apple, for reconcile to
    /// find.
    func make(_ wanted: ChannelToMake) async throws -> SmallSegment.Answer {
        let identity = try await orchestrator.signing.identity(of: wanted.app, wanted.environment)
        let outcome = try await orchestrator.channelRequests.pass {
            try Task.checkCancellation()
            return await orchestrator.askForChannel(wanted, signing: identity, slot: slot)
        }
        return switch outcome {
        case .created(let apnsID): .made(MadeChannel(wanted: wanted, apnsID: apnsID, identity: identity))
        case .failed(let outcome): .notMade(outcome)
        }
    }

    /// Stores what Apple has made. If that fails, the group asks Apple again after a pause.
    ///
    /// - Returns: Whether some segments may be due again.
    func keep(_ made: [MadeChannel]) async -> Bool {
        do {
            return try await orchestrator.keep(made)
        } catch {
            await withDiscardingTaskGroup { group in
                for lease in made.map(\.wanted.lease) {
                    let worker = SegmentWorker(orchestrator: orchestrator, slot: slot, lease: lease)
                    group.addTask { await worker.failed(error) }
                }
            }
            return false
        }
    }

    /// Ends the lease of a segment whose channel Apple has not made. The starts of a hybrid activity look whether they
    /// still have to wait.
    func settle(_ wanted: ChannelToMake, _ outcome: PushOutcome) async throws {
        let activityKey = wanted.lease.activityKey
        try await orchestrator.database.withTransaction { connection in
            let isNew = try await connection.execute(
                """
                UPDATE channels SET reason = \(outcome.words)
                WHERE channel_id = \(wanted.id.rawValue)::uuid AND reason IS DISTINCT FROM \(outcome.words)
                """
            )
            var statements: [Query] = []
            if isNew > 0 {
                let refusal = Event.channelRefused(wanted.id, of: .activity(key: activityKey), reason: outcome.words)
                statements.append(EventRows.insertion([refusal]))
            }
            if wanted.delivery == .hybrid {
                statements.append(SegmentRows.wake(activityKeys: [activityKey], segments: .rings))
            }
            if !statements.isEmpty { _ = try await connection.pipeline(statements) }
        }
        try await backOff(wanted.lease, afterFailures: wanted.failures + 1, because: outcome)
    }
}
