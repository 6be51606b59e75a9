import APNSTransport
import ActivityModel
import Logging
import Postgres
import Store

/// Channels that are made before an activity needs them, so that its start does not wait for Apple. They have never
/// been used; one that was used is never put back.
///
/// Tally fills a pool and never empties it. If a pool becomes smaller, activities use it up, and channels that were
/// made by hand stay. The view `channel_pools` defines which storage the channels have: the one that the app's
/// activities want by default. Nobody would use a channel of the other kind.
struct ChannelPool: Sendable {
    let room: Channels
    let lease: ChannelSweepLease

    /// Channels made in one sweep; more are made in the next one.
    private static let batchSize = 50

    /// Makes what is missing.
    ///
    /// - Returns: Why Apple refused to make one; nil if nothing went wrong.
    /// - Throws: ``LeaseLost``.
    func fill() async throws -> PushOutcome? {
        guard let (missing, storage) = try await shortage() else { return nil }
        let identity = try await room.store.signing.identity(of: lease.app, lease.environment)
        for _ in 0..<min(missing, Self.batchSize) {
            try await room.sweeps.renew(lease)
            let outcome = try await room.makeChannel(
                lease.app,
                lease.environment,
                storage,
                signing: identity
            ) { ask in
                let outcome = await ask()
                if case .created(let apnsID) = outcome {
                    _ = try await ChannelRows.insert(apnsID, app: lease.app, lease.environment, storage) {
                        try await room.database.query($0)
                    }
                }
                return outcome
            }
            if case .failed(let outcome) = outcome { return outcome }
        }
        return nil
    }

    private func shortage() async throws -> (missing: Int, storage: ChannelStorage)? {
        let rows = try await room.database.query(
            """
            SELECT wanted - unused, storage::text FROM channel_pools
            WHERE bundle_id = \(lease.app.rawValue) AND environment = \(lease.environment.rawValue)::apns_environment
              AND unused < wanted
            """
        )
        guard let (missing, word) = try rows.first(as: (Int64, String).self) else { return nil }
        return (Int(missing), try .stored(word))
    }
}
