import APITypes
import APNSTransport
import ActivityModel
import Logging
import Postgres
import Store
import Synchronization

extension Orchestrator {
    /// Has Apple make a channel, and stores it. `body` gets a function that asks Apple, calls it once, and stores the
    /// answer in a transaction.
    ///
    /// Runs in a task of its own. So a channel that Apple has reported is stored even when the daemon stops. Otherwise
    /// only a comparison with Apple's list would find it (promise 11).
    ///
    /// - Throws: What `body` throws; a channel that is surely not stored is given back to Apple. If one may be left
    ///   there, 503 `outcome_unknown` replaces a `PostgresError`, which may say that nothing was carried out. Then the
    ///   log has the id of the channel, if Apple reported it.
    func makeChannel<R: Sendable>(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        signing identity: SigningIdentity,
        _ body: @escaping @Sendable (_ ask: @escaping @Sendable () async -> ChannelCreationOutcome) async throws -> R
    ) async throws -> R {
        try await Task {
            let answer = Mutex<ChannelCreationOutcome?>(nil)
            do {
                return try await body {
                    let outcome = await self.ask(app, environment, storage, signing: identity)
                    answer.withLock { $0 = outcome }
                    return outcome
                }
            } catch {
                switch answer.withLock({ $0 }) {
                case .created(let apnsID):
                    let channel = AppleChannel(app, environment, apnsID, signing: identity)
                    try await failToStore(channel, because: error)
                case .failed(let outcome) where error is PostgresError && outcome.class == .unknown:
                    throw Self.problem(outcome)
                case .failed, nil: break
                }
                throw error
            }
        }.value
    }

    /// Has Apple make the channel of an activity, which ``keep(_:)`` stores. In a task of its own, as ``makeChannel``.
    func askForChannel(
        _ wanted: ChannelToMake,
        signing identity: SigningIdentity,
        slot: WorkerSlot?
    ) async -> ChannelCreationOutcome {
        await Task {
            await slot.awaiting {
                await self.ask(wanted.app, wanted.environment, wanted.storage, signing: identity)
            }
        }.value
    }

    private func ask(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        signing identity: SigningIdentity
    ) async -> ChannelCreationOutcome {
        await sender.createChannel(
            environment: environment,
            identity: identity,
            bundleID: app,
            storage: storage
        )
    }

    /// Stores channels that Apple has made for activities. An activity may have got another channel meanwhile, or need
    /// none any more. Then the channel joins those that are ready for use, so that Tally forgets no channel at Apple
    /// (promise 11). Runs in a task of its own, as ``makeChannel``.
    ///
    /// - Returns: Whether some segments are due now.
    /// - Throws: Errors of the database; channels that are surely not stored are given back to Apple.
    func keep(_ made: [MadeChannel]) async throws -> Bool {
        try await Task {
            let kept: SegmentStore.Kept
            do {
                kept = try await self.segments.keep(made)
            } catch {
                await self.failToStore(made, because: error)
                throw error
            }
            for one in made where !kept.stored.contains(one.wanted.id) {
                do {
                    let wanted = one.wanted
                    _ = try await ChannelRows.insert(one.apnsID, app: wanted.app, wanted.environment, wanted.storage) {
                        try await self.database.query($0)
                    }
                } catch {
                    await self.failToStore([one], because: error)
                }
            }
            return kept.mayHaveMore
        }.value
    }

    private func failToStore(_ made: [MadeChannel], because error: any Error) async {
        await withDiscardingTaskGroup { group in
            for one in made {
                group.addTask {
                    let wanted = one.wanted
                    let channel = AppleChannel(wanted.app, wanted.environment, one.apnsID, signing: one.identity)
                    try? await self.failToStore(channel, because: error)  // has said so in the log
                }
            }
        }
    }

    /// Gives a channel back that Apple has made and that is surely not stored.
    ///
    /// - Throws: 503 `outcome_unknown` if it may be left at Apple and nothing else will be said of it.
    private func failToStore(_ channel: AppleChannel, because error: any Error) async throws {
        if Self.isSurelyUndone(error), await delete(channel) { return }
        logger.error(
            "Apple has made a channel that could not be stored",
            metadata: [
                "app": "\(channel.app)", "environment": "\(channel.environment.rawValue)",
                "apns.channel_id": "\(channel.id.rawValue)",
                "error": "\(error)",
            ]
        )
        guard error is PostgresError else { return }
        throw Problem.outcomeUnknown(
            "APNs has made the channel '\(channel.id.rawValue)', and the database did not say that it is stored."
        )
    }

    /// Whether a transaction that failed so has stored nothing.
    private static func isSurelyUndone(_ error: any Error) -> Bool {
        // The app was deleted meanwhile, and nobody could delete its channels later.
        if error is SigningKeyMissing { return true }
        guard let error = error as? PostgresError else { return false }
        return switch error.code {
        case .unreachable, .poolExhausted, .closed, .server, .transactionAborted: true
        default: false
        }
    }

    /// - Returns: Whether it is gone.
    private func delete(_ channel: AppleChannel) async -> Bool {
        let outcome = await sender.deleteChannel(
            environment: channel.environment,
            identity: channel.identity,
            bundleID: channel.app,
            channelID: channel.id
        )
        return switch outcome {
        case .deleted, .alreadyGone: true
        case .failed: false
        }
    }
}

/// A channel that only Apple knows.
private struct AppleChannel: Sendable {
    let app: BundleID
    let environment: APNSEnvironment
    let id: APNSChannelID
    let identity: SigningIdentity

    init(_ app: BundleID, _ environment: APNSEnvironment, _ id: APNSChannelID, signing identity: SigningIdentity) {
        self.app = app
        self.environment = environment
        self.id = id
        self.identity = identity
    }
}
