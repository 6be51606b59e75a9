import APITypes
package import APNSTransport
package import ActivityModel
import Logging
import Postgres
import ServiceLifecycle
import Store
import Synchronization

extension Channels {
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
                    let channel = AppleChannel(app, environment, storage, apnsID, signing: identity)
                    try await failToStore(channel, because: error)
                case .failed(let outcome) where error is PostgresError && outcome.class == .unknown:
                    throw Self.problem(outcome)
                case .failed, nil: break
                }
                throw error
            }
        }.value
    }

    /// Has Apple make the channel of an activity. Few ask at the same time (``requests``); the others wait.
    ///
    /// Runs in a task of its own, as ``makeChannel``.
    ///
    /// - Parameters:
    ///   - app: The app of the activity.
    ///   - environment: The environment of the activity.
    ///   - storage: What the channel stores.
    ///   - identity: The key that signs the request.
    /// - Returns: The channel, or Apple's refusal.
    /// - Throws: `CancellationError` if the daemon stops, or the task is cancelled, before Apple is asked.
    package func makeForActivity(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        signing identity: SigningIdentity
    ) async throws -> ChannelCreationOutcome {
        try await requests.pass(of: HaltScope(app: app, environment: environment)) {
            guard !Task.isCancelled, !Task.isShuttingDownGracefully else { throw CancellationError() }
            return await Task { await ask(app, environment, storage, signing: identity) }.value
        }
    }

    private func ask(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        signing identity: SigningIdentity
    ) async -> ChannelCreationOutcome {
        await apple.createChannel(
            environment: environment,
            identity: identity,
            bundleID: app,
            storage: storage
        )
    }

    /// Keeps channels that Apple has made for activities which have got others meanwhile, or need none any more. They
    /// join those that are ready for use, so that Tally forgets no channel at Apple (promise 11).
    package func keepForLater(_ made: [AppleChannel]) async {
        for channel in made {
            do {
                _ = try await ChannelRows.insert(channel.id, app: channel.app, channel.environment, channel.storage) {
                    try await database.query($0)
                }
            } catch {
                await giveBack([channel], because: error)
            }
        }
    }

    /// Gives channels back to Apple that are surely not stored. The log names those that may be left there.
    package func giveBack(_ made: [AppleChannel], because error: any Error) async {
        await withDiscardingTaskGroup { group in
            for channel in made {
                group.addTask {
                    try? await failToStore(channel, because: error)  // has said so in the log
                }
            }
        }
    }

    /// Gives a channel back that Apple has made and that is surely not stored.
    ///
    /// - Throws: 503 `outcome_unknown` if it may be left at Apple and nothing else will be said of it.
    private func failToStore(_ channel: AppleChannel, because error: any Error) async throws {
        if Self.isSurelyUndone(error), await delete(channel) { return }
        store.logger.error(
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
        let outcome = await apple.deleteChannel(
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
package struct AppleChannel: Sendable {
    let app: BundleID
    let environment: APNSEnvironment
    let storage: ChannelStorage
    let id: APNSChannelID
    let identity: SigningIdentity

    /// A channel and the key that signed the request for it.
    package init(
        _ app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        _ id: APNSChannelID,
        signing identity: SigningIdentity
    ) {
        self.app = app
        self.environment = environment
        self.storage = storage
        self.id = id
        self.identity = identity
    }
}
