import APNSTransport
import ActivityModel
import Logging
import Postgres
import ServiceLifecycle
import Store

/// Keeps pools filled, compares channels with Apple's list, and deletes what has served its time (promise 11).
///
/// Deletions are claimed by row; the rest is done by one sweeper per app and environment, under a lease.
struct ChannelSweeper: Service, CustomStringConvertible {
    let room: Channels

    /// How soon a channel is due is a matter of minutes and hours.
    private static let interval = Duration.seconds(1)
    /// How many of these intervals lie between two looks for sweeps; a pool is refilled as soon.
    private static let looksPerSweep = 5

    var description: String { "channel-sweeper" }

    func run() async {
        let logger = room.store.logger
        await withDiscardingTaskGroup { group in
            group.addTask {
                await repeating("delete channels", after: room.deletions, logger: logger) {
                    try await deleteDue()
                    try await Task.sleep(for: Self.interval)
                }
            }
            group.addTask {
                await repeating("end cards of lost channels", after: room.losses, logger: logger) {
                    try await endLostCards()
                }
            }
            group.addTask {
                await repeating("sweep channels", every: Self.interval * Self.looksPerSweep, logger: logger) {
                    try await sweepDue()
                    try await room.gauges.update(from: room.database)
                }
            }
        }
    }

    // MARK: Pools and Apple's list

    /// Sweeps what is due, several apps at a time.
    func sweepDue() async throws {
        let leases = try await room.sweeps.claimDue()
        await withDiscardingTaskGroup { group in
            for lease in leases {
                group.addTask { await sweep(lease) }
            }
        }
    }

    private func sweep(_ lease: ChannelSweepLease) async {
        do {
            let reason = try await work(lease)
            if let reason { warn(lease, reason) }
            try await room.sweeps.release(lease, hasFailed: reason != nil)
        } catch {
            warn(lease, "\(error)")
            // Without a database the lease expires.
            try? await room.sweeps.release(lease, hasFailed: true)
        }
    }

    /// - Returns: Why it has to be tried again; nil if all is well.
    private func work(_ lease: ChannelSweepLease) async throws -> String? {
        if try await room.sweeps.isReconcileDue(lease) {
            do {
                let reconciliation = ChannelReconciliation(
                    room: room,
                    app: lease.app,
                    environment: lease.environment,
                    lease: lease
                )
                _ = try await reconciliation.run()
            } catch let refusal as ChannelReconciliation.ListRefused {
                return refusal.outcome.words
            }
        }
        return try await ChannelPool(room: room, lease: lease).fill()?.words
    }

    private func warn(_ lease: ChannelSweepLease, _ reason: String) {
        room.store.logger.warning(
            "a sweep of channels failed",
            metadata: ["app": "\(lease.app)", "environment": "\(lease.environment.rawValue)", "reason": "\(reason)"]
        )
    }

    // MARK: Lost channels

    /// Ends the cards of lost channels, batch after batch, until no card is left.
    func endLostCards() async throws {
        let cards = room.cards
        while try await cards.endSome() {}
    }

    // MARK: Deletions

    private struct Due: Sendable {
        let id: ChannelID
        let app: BundleID
        let environment: APNSEnvironment
        let apnsID: APNSChannelID
    }

    private static let batchSize = 20
    /// How long a claim lasts: as long as a batch of one app may take, one channel after the other. How soon a channel
    /// is deleted that a daemon has left behind is a matter of minutes.
    private static let lease = ChannelSweepStore.lease * batchSize

    /// Deletes the channels whose grace time is over, a batch of them at a time. Channels of one app and environment
    /// are deleted one after the other. So a channel that Apple does not answer for delays no other app.
    func deleteDue() async throws {
        let due = Dictionary(grouping: try await claimDeletions()) {
            HaltScope(app: $0.app, environment: $0.environment)
        }
        await withDiscardingTaskGroup { group in
            for channels in due.values {
                group.addTask { await delete(channels) }
            }
        }
    }

    /// A claim moves the time on, so that another daemon leaves the channel alone.
    private func claimDeletions() async throws -> [Due] {
        let rows = try await room.database.query(
            """
            WITH due AS MATERIALIZED (
                SELECT channel_id FROM channels AS c
                WHERE delete_at <= now() AND \(unescaped: ChannelStanding.awaitsDeletion("c"))
                ORDER BY delete_at LIMIT \(Self.batchSize) FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE channels AS c SET state = 'deleting', delete_at = clock_timestamp() + \(Self.lease)
            FROM due WHERE c.channel_id = due.channel_id
            RETURNING c.channel_id::text, c.bundle_id, c.environment::text, c.apns_channel_id
            """
        )
        return try rows.decoded(as: (String, String, String, String).self).map { id, app, environment, apnsID in
            Due(
                id: ChannelID(stored: id),
                app: BundleID(stored: app),
                environment: try .stored(environment),
                apnsID: APNSChannelID(stored: apnsID)
            )
        }
    }

    /// Deletes the channels of one app, one after the other, until the app has to wait.
    private func delete(_ channels: [Due]) async {
        for (index, channel) in channels.enumerated() {
            let (reason, concernsAll): (String, Bool)
            do {
                guard
                    let outcome = try await room.deleteAtApple(
                        channel.app,
                        channel.environment,
                        channel.apnsID,
                        channel.id
                    )
                else { continue }
                (reason, concernsAll) = (outcome.words, outcome.concernsApp)
            } catch {
                (reason, concernsAll) = ("\(error)", true)
            }
            await putOff(concernsAll ? channels[index...] : [channel], reason, andAllDue: concernsAll)
            if concernsAll { return }
        }
    }

    /// Tries again later, each time after a longer wait. `andAllDue`: all due channels of the same app and environment
    /// wait as well. Otherwise each batch of them would take the turn of other apps to find the same failure.
    private func putOff(_ channels: ArraySlice<Due>, _ reason: String, andAllDue: Bool) async {
        guard let first = channels.first else { return }
        room.store.logger.warning(
            "channels are not deleted",
            metadata: [
                "channel.id": "\(first.id.rawValue)", "count": "\(channels.count)",
                "reason": "\(reason)",
            ]
        )
        do {
            _ = try await room.database.execute(
                """
                WITH late AS MATERIALIZED (
                    SELECT channel_id FROM channels AS c
                    WHERE (channel_id = ANY(\(channels.map(\.id.rawValue))::uuid[]) AND state = 'deleting')
                       OR (\(andAllDue) AND bundle_id = \(first.app.rawValue)
                           AND environment = \(first.environment.rawValue)::apns_environment
                           AND delete_at <= now() AND \(unescaped: ChannelStanding.awaitsDeletion("c")))
                    ORDER BY channel_id FOR NO KEY UPDATE
                )
                UPDATE channels AS c
                SET failures = least(failures + 1, 1000),
                    delete_at = clock_timestamp() + \(unescaped: ChannelRows.backOff)
                FROM late WHERE c.channel_id = late.channel_id
                """
            )
        } catch {
            // The database is away: the claim expires.
        }
    }
}

extension PushOutcome {
    /// Whether another call for the same app would fail as well now.
    fileprivate var concernsApp: Bool {
        switch self.class {
        case .unknown, .notSent, .retry, .credential: true
        case .accepted, .tokenDead, .tokenRejected, .requestInvalid, .channelGone: false
        }
    }
}
