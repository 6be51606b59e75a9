package import APITypes
package import ActivityModel
import Postgres
import ReportTypes
package import Store

extension Channels {
    /// Compares the channels of an app with Apple's list, and mends what differs; or only looks, in a dry run.
    ///
    /// The answer is kept for an `Idempotency-Key` when the sweep is over. Until then the same request gets 409
    /// `sweep_in_progress`, like any other: the lease of the sweep holds the key, too.
    ///
    /// - Throws: 409 `sweep_in_progress` while somebody does the same, `idempotency_key_reused`; 502
    ///   `apns_refused` with Apple's word, 503 if Apple did not answer.
    package func reconcile(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        dryRun: Bool,
        idempotency: IdempotencyKey?
    ) async throws -> Replayable<ChannelReport> {
        if dryRun { return Replayable(try await reconcile(app, environment, under: nil), isReplay: false) }
        if let idempotency, let report = try await keptReport(idempotency) {
            return Replayable(report, isReplay: true)
        }
        // The sweep is many transactions, which write events. The audit entry of the request belongs to the first one,
        // which begins the sweep.
        let record = AuditRows.entry(.channelsReconciled, of: app, environment.rawValue)
        guard let lease = try await sweeps.claim(app, environment, record: record) else {
            throw Problem.sweepInProgress()
        }
        let result: Result<Replayable<ChannelReport>, any Error>
        do {
            result = .success(try await keep(reconcile(app, environment, under: lease), for: idempotency))
        } catch {
            result = .failure(error)
        }
        // Runs in a task of its own, because the caller may have hung up. A refusal by Apple does not delay the
        // service, which tries as usual.
        try await Task { [sweeps] in try await sweeps.release(lease, hasFailed: false) }.value
        return try result.get()
    }

    private func keptReport(_ key: IdempotencyKey) async throws -> ChannelReport? {
        try await database.withTransaction { connection in
            try await KeptAnswers<ChannelReport>.read([key], status: 200, on: connection).answer(to: key)
        }
    }

    /// The answer to a key from now on.
    private func keep(_ report: ChannelReport, for key: IdempotencyKey?) async throws -> Replayable<ChannelReport> {
        guard let key else { return Replayable(report, isReplay: false) }
        return try await keepingAnswer {
            try await database.withTransaction { connection in
                try await KeptAnswers.once(key, status: 200, on: connection) { report }
            }
        }
    }

    private func reconcile(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        under lease: ChannelSweepLease?
    ) async throws -> ChannelReport {
        do {
            return try await ChannelReconciliation(room: self, app: app, environment: environment, lease: lease).run()
        } catch let refusal as ChannelReconciliation.ListRefused {
            throw Self.problem(refusal.outcome, ofLook: true)
        } catch is LeaseLost {
            throw Problem.sweepInProgress()
        }
    }
}
