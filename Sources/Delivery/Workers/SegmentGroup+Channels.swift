import APNSTransport
import ActivityModel
import Channels
import DeliveryStore
import Postgres
import Store

/// How a group has channels made.
extension SegmentGroup {
    /// Has Apple make a channel. That is not idempotent: after a lost answer one may be left at Apple, for reconcile to
    /// find.
    func make(_ wanted: ChannelToMake) async throws -> SmallSegment.Answer {
        let identity = try await room.signing.identity(of: wanted.app, wanted.environment)
        // Where Apple is silent, most wait to be asked for.
        let outcome = try await slot.awaiting {
            try await room.channels.makeForActivity(
                wanted.app,
                wanted.environment,
                wanted.storage,
                signing: identity
            )
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
            return try await storeOrGiveBack(made)
        } catch {
            await withDiscardingTaskGroup { group in
                for lease in made.map(\.wanted.lease) {
                    let worker = SegmentWorker(room: room, slot: slot, lease: lease)
                    group.addTask { await worker.failed(error) }
                }
            }
            return false
        }
    }

    /// Stores what Apple has made. If an activity does not need its channel any more, the channel joins those that are
    /// ready for use.
    ///
    /// Runs in a task of its own, so that a channel is stored or given back even when the daemon stops (promise 11).
    ///
    /// - Returns: Whether some segments are due now.
    /// - Throws: Errors of the database. Channels that are surely not stored are given back to Apple.
    func storeOrGiveBack(_ made: [MadeChannel]) async throws -> Bool {
        try await Task { [room] in
            let kept: SegmentStore.Kept
            do {
                kept = try await room.segments.keep(made)
            } catch {
                await room.channels.giveBack(made.map(\.atApple), because: error)
                throw error
            }
            let others = made.filter { !kept.stored.contains($0.wanted.id) }
            await room.channels.keepForLater(others.map(\.atApple))
            return kept.mayHaveMore
        }.value
    }

    /// Ends the lease of a segment whose channel Apple has not made. The starts of a hybrid activity look whether they
    /// still have to wait.
    func settleChannel(_ wanted: ChannelToMake, _ outcome: PushOutcome) async throws {
        let activityKey = wanted.lease.activityKey
        try await room.database.withTransaction { connection in
            var statements = try await ChannelRows.refuse(
                wanted.id,
                of: activityKey,
                reason: outcome.words,
                on: connection
            )
            if wanted.delivery == .hybrid {
                statements.append(SegmentRows.wake(activityKeys: [activityKey], segments: .rings))
            }
            if !statements.isEmpty { _ = try await connection.pipeline(statements) }
        }
        try await room.backOff(wanted.lease, afterFailures: wanted.failures + 1, because: outcome.words)
    }
}
