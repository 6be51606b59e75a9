import APITypes
import APNSTransport
import ActivityModel
import Logging
import Postgres
import Synchronization

extension Orchestrator {
    /// Has Apple make a channel, and stores it: `body` is handed what asks Apple, once, and stores the answer. In a
    /// task of its own, so that a channel of which Apple has told is stored when the daemon stops, too. Else none but a
    /// comparison with Apple's list would find it (promise 11).
    ///
    /// - Throws: What `body` throws. If Apple has told of a channel then, the log has its id; for ``SigningKeyMissing``
    ///   it is deleted again: the app was deleted meanwhile, and nobody could do so later. A `PostgresError`, which may
    ///   say that nothing was carried out, becomes 503 `outcome_unknown` then.
    func makeChannel<R: Sendable>(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        signing identity: SigningIdentity,
        _ body: @escaping @Sendable (_ ask: @escaping @Sendable () async -> ChannelCreationOutcome) async throws -> R
    ) async throws -> R {
        try await Task {
            let made = Mutex<APNSChannelID?>(nil)
            do {
                return try await body {
                    let outcome = await WorkerSlot.awaiting {
                        await self.sender.createChannel(
                            environment: environment,
                            identity: identity,
                            bundleID: app,
                            storage: storage
                        )
                    }
                    if case .created(let apnsID) = outcome { made.withLock { $0 = apnsID } }
                    return outcome
                }
            } catch {
                guard let apnsID = made.withLock({ $0 }) else { throw error }
                await dispose(of: apnsID, app, environment, signing: identity, because: error)
                guard error is PostgresError else { throw error }
                throw Problem.outcomeUnknown(
                    "APNs has made the channel '\(apnsID.rawValue)', and the database did not say that it is stored."
                )
            }
        }.value
    }

    private func dispose(
        of apnsID: APNSChannelID,
        _ app: BundleID,
        _ environment: APNSEnvironment,
        signing identity: SigningIdentity,
        because error: any Error
    ) async {
        if error is SigningKeyMissing {
            let outcome = await sender.deleteChannel(
                environment: environment,
                identity: identity,
                bundleID: app,
                channelID: apnsID
            )
            switch outcome {
            case .deleted, .alreadyGone: return
            case .failed: break
            }
        }
        logger.error(
            "Apple has made a channel that could not be stored",
            metadata: [
                "app": "\(app)", "environment": "\(environment.rawValue)",
                "apns.channel_id": "\(apnsID.rawValue)",
                "error": "\(error)",
            ]
        )
    }
}
