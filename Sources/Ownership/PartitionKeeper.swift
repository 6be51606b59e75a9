package import Logging
package import Postgres
import ServiceLifecycle
import Store
import Synchronization

/// Keeps this daemon's share of the partitions. It renews the lease twice a second, and takes over from daemons that
/// have died or left. When it stops, it hands its own partitions over.
///
/// Webhooks are shared by it. No push depends on it: the leases of `segments` decide who sends.
package final class PartitionKeeper: Service, CustomStringConvertible {
    private let store: OwnershipStore
    /// What the daemon tells of itself when it enters.
    private let settings: [String: String]
    /// How often it renews.
    private let interval: Duration
    private let uptime: @Sendable () -> Duration
    private let logger: Logger
    let ownership = Mutex(Ownership())

    /// - Parameters:
    ///   - database: Where daemons and partitions are written.
    ///   - settings: What the daemon tells of itself, by name.
    ///   - interval: How often it renews the lease.
    ///   - uptime: The daemon's clock. It only grows.
    ///   - logger: Takes what fails.
    package init(
        database: Database,
        settings: [String: String] = [:],
        interval: Duration = .milliseconds(500),
        uptime: @escaping @Sendable () -> Duration,
        logger: Logger
    ) {
        store = OwnershipStore(database: database)
        self.settings = settings
        self.interval = interval
        self.uptime = uptime
        self.logger = logger
    }

    package var description: String { "partition-keeper" }

    /// The partitions for which work may begin now.
    package var owned: [Int16] {
        let now = uptime()
        return ownership.withLock { ownership in
            ownership.held.keys.filter { ownership.remaining($0, at: now) != nil }.sorted()
        }
    }

    package func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                let (nudges, nudge) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                group.addTask { await self.listen(nudge) }
                group.addTask { await self.tick(nudge) }
                for await _ in nudges {
                    do { try await self.look() } catch { self.logger.failed("cannot renew the daemon's lease", error) }
                }
            }
        }
        do { try await leave() } catch { logger.failed("cannot hand partitions over", error) }
    }

    private func tick(_ nudge: AsyncStream<Void>.Continuation) async {
        while !Task.isCancelled {
            nudge.yield()
            try? await Task.sleep(for: interval)  // throws only when cancelled
        }
        nudge.finish()
    }

    private func listen(_ nudge: AsyncStream<Void>.Continuation) async {
        for await _ in store.database.notifications(channels: [OwnershipStore.channel]) { nudge.yield() }
    }

    /// Renews the lease, and takes or releases partitions. One call runs at a time.
    package func look() async throws {
        let sentAt = uptime()
        guard let daemon = ownership.withLock({ $0.daemon }) else {
            let daemon = try await store.enter(with: settings)
            return ownership.withLock { $0.entered(as: daemon, sentAt: sentAt) }
        }
        guard let look = try await store.renew(daemon) else {
            logger.warning("another daemon has declared this one dead; it enters again")
            return ownership.withLock { $0.ended() }
        }
        let actions = ownership.withLock { ownership in
            ownership.renewed(sentAt: sentAt)
            return ownership.saw(look, at: uptime())
        }
        for action in actions {
            switch action {
            case .bury(let renewals):
                try await store.bury(renewals)
                // Their partitions are free now.
                return try await self.look()
            case .claim(let epochs):
                let claimed = try await store.claim(epochs, for: daemon)
                ownership.withLock { $0.claimed(claimed) }
            case .release(let partitions):
                // Given up first: nothing begins for them once others may own them.
                ownership.withLock { $0.lost(partitions) }
                try await store.release(partitions, of: daemon)
            }
        }
    }

    /// Hands everything over.
    func leave() async throws {
        let daemon = ownership.withLock { ownership in
            defer { ownership.ended() }
            return ownership.daemon
        }
        if let daemon { try await store.leave(daemon) }
    }
}
