package import APITypes
package import ActivityModel
import Postgres

extension Orchestrator {
    /// Compares the channels of an app with Apple's list, and mends what differs; or only looks, in a dry run.
    ///
    /// - Throws: 404, 422; 409 `sweep_in_progress` while another daemon does the same; 502 `apns_refused` with Apple's word,
    ///   503 if Apple did not answer.
    package func reconcileChannels(_ app: BundleID, _ request: ReconcileRequest) async throws -> ChannelReport {
        let environment = try await environment(request.environment, of: app)
        if request.dryRun { return try await reconcile(app, environment, under: nil) }
        // The sweep is many transactions, told of by events; that it was wanted belongs to the first, which begins it.
        let record = AuditRows.entry(.channelsReconciled, of: app, environment.rawValue)
        guard let lease = try await sweeps.claim(app, environment, record: record) else { throw Self.sweepInProgress() }
        let result: Result<ChannelReport, any Error>
        do {
            result = .success(try await reconcile(app, environment, under: lease))
        } catch {
            result = .failure(error)
        }
        // In a task of its own: whoever asked may have hung up. What Apple refused a person is tried as usual by the service.
        try await Task { [sweeps] in try await sweeps.release(lease, hasFailed: false) }.value
        return try result.get()
    }

    private func reconcile(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        under lease: ChannelSweepLease?
    ) async throws -> ChannelReport {
        do {
            return try await ChannelReconciliation(orchestrator: self, app: app, environment: environment, lease: lease)
                .run()
        } catch let refusal as ChannelReconciliation.ListRefused {
            throw Self.problem(refusal.outcome)
        } catch is LeaseLost {
            throw Self.sweepInProgress()
        }
    }

    private static func sweepInProgress() -> Problem {
        .conflict(
            code: "sweep_in_progress",
            detail: "The channels of this app and environment are being swept just now."
        )
    }
}
