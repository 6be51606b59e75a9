import APNSTransport
import ActivityModel
import Logging

extension Orchestrator {
    /// Has Apple make a channel, and stores it by `keep`: both in a task of its own, so that a channel of which Apple has told
    /// is stored when the daemon stops, too. Else none but a comparison with Apple's list would find it (promise 11).
    ///
    /// - Throws: Why it could not be stored; then the log has its id.
    func makeChannel(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        signing identity: SigningIdentity,
        keep: @escaping @Sendable (APNSChannelID) async throws -> Void
    ) async throws -> ChannelCreationOutcome {
        try await Task {
            let outcome = await WorkerSlot.awaiting {
                await sender.createChannel(
                    environment: environment,
                    identity: identity,
                    bundleID: app,
                    storage: storage
                )
            }
            guard case .created(let apnsID) = outcome else { return outcome }
            do {
                try await keep(apnsID)
            } catch {
                logger.error(
                    "Apple has made a channel that could not be stored",
                    metadata: [
                        "app": "\(app)", "environment": "\(environment.rawValue)",
                        "apns.channel_id": "\(apnsID.rawValue)",
                        "error": "\(error)",
                    ]
                )
                throw error
            }
            return outcome
        }.value
    }
}
