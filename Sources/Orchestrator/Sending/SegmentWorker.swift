import ActivityModel
import Logging
import ServiceLifecycle

/// Works on one leased segment until it has nothing to do, and keeps the lease alive meanwhile.
///
/// One worker at a time serves a segment, so at most one push is in flight per destination (promise 4).
struct SegmentWorker: Sendable {
    let orchestrator: Orchestrator
    let lease: SegmentLease

    private var store: SegmentStore { self.orchestrator.segments }

    /// What one look for work came to.
    enum Turn: Sendable {
        /// Something was sent or settled; there may be more.
        case worked
        /// Nothing is due.
        case idle
        /// The segment as a whole cannot be served now; `reason` is APNs' word or ours, safe for logs.
        case failed(reason: String)
    }

    /// Works until the segment rests, backs off, the daemon shuts down, or the lease is lost.
    func run() async {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.keepLease() }
                group.addTask { try await self.work() }
                // The keeper only ends by an error, so the first to end is the work, or a lost lease ends both.
                try await group.next()
                group.cancelAll()
            }
        } catch is LeaseLost {
            self.orchestrator.logger.notice("lease lost", metadata: self.metadata)
        } catch {
            self.orchestrator.logger.error(
                "segment failed",
                metadata: self.metadata.merging(["error": "\(error)"]) { $1 }
            )
            await self.rescue()
        }
    }

    private func work() async throws {
        while true {
            if Task.isShuttingDownGracefully {
                try await self.store.release(self.lease)
                return
            }
            let progress = try await self.store.renew(self.lease)
            let snapshot = try await ActivitySnapshot.read(
                self.lease.activityKey,
                begun: progress.carousel.begun,
                from: self.orchestrator.database
            )
            guard let activity = snapshot else { return }
            switch try await self.turn(activity, progress) {
            case .worked:
                continue
            case .idle:
                if try await self.store.rest(self.lease, wakesSeen: progress.wakes) { return }
            case .failed(let reason):
                let delay = Backoff(cap: self.orchestrator.settings.retryCap)
                    .delay(afterFailures: progress.failures + 1, jitter: .random(in: 0...1))
                self.orchestrator.logger.warning(
                    "segment backs off",
                    metadata: self.metadata.merging(["reason": "\(reason)", "delay": "\(delay)"]) { $1 }
                )
                try await self.store.backOff(self.lease, for: delay)
                return
            }
        }
    }

    private func turn(_ activity: ActivitySnapshot, _ progress: SegmentProgress) async throws -> Turn {
        if activity.state == .scheduled { return .idle }
        if self.lease.isChannel {
            return try await ChannelTurn(orchestrator: self.orchestrator, lease: self.lease, activity: activity)
                .run(progress.carousel)
        }
        let turns = [
            try await StartTurn(orchestrator: self.orchestrator, lease: self.lease, activity: activity).run(),
            try await CatchUpTurn(orchestrator: self.orchestrator, lease: self.lease, activity: activity).run(),
            try await RingTurn(orchestrator: self.orchestrator, lease: self.lease, activity: activity)
                .run(progress.carousel),
        ]
        return turns.reduce(.idle) { result, turn in
            switch (result, turn) {
            case (.failed, _): result
            case (_, .failed), (_, .worked): turn
            case (_, .idle): result
            }
        }
    }

    /// A batch may wait for APNs longer than the lease lasts.
    private func keepLease() async throws {
        while true {
            try await Task.sleep(for: self.orchestrator.settings.lease / 3)
            _ = try await self.store.renew(self.lease)
        }
    }

    private func rescue() async {
        // Without a database the lease runs out by itself, and the work is still due.
        try? await self.store.backOff(self.lease, for: .seconds(1))
    }

    private var metadata: Logger.Metadata {
        ["activity.key": "\(self.lease.activityKey)", "segment": "\(self.lease.segment)"]
    }
}
