package import ActivityModel
internal import Glibc
internal import HTTP2Engine
package import Logging
package import Metrics
internal import Reactor
internal import ServiceLifecycle
internal import TLSEngine

/// Sends to Apple: pushes to tokens and channels, and the management of channels.
///
/// Everything is done by one thread, which lives as long as ``run()`` or until ``shutDown()``; sending works as soon as
/// the client is made. Every call ends by its deadline, and no answer of Apple's is ever thrown. When the calling task
/// is cancelled, what has not left is not sent, and what has left is still waited for.
package final class APNSClient: Service, CustomStringConvertible, Sendable {
    /// How long a request about channels may take.
    package static let channelDeadline: Duration = .seconds(10)

    private let loop: EventLoop
    private let engine: LoopBound<TransportEngine>
    private let providerTokens: ProviderTokens
    private let endpoints: APNSEndpoints

    /// Makes a client and starts its thread. Nothing is sent.
    ///
    /// `caFile` names further trust roots beside the system's, in PEM. `providerTokens` are shared with all that send
    /// with the same keys.
    package init(
        endpoints: APNSEndpoints = APNSEndpoints(),
        caFile: String? = nil,
        providerTokens: any ProviderTokenStore = LocalProviderTokens(),
        configuration: APNSClientConfiguration = APNSClientConfiguration(),
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) throws(APNSTransportError) {
        try configuration.validate()
        let context: TLSContext
        do {
            context = try TLSContext.client(caFile: caFile)
        } catch {
            throw APNSTransportError(.trust, "the trust roots for APNs cannot be loaded", cause: error)
        }
        do {
            loop = try EventLoop(name: "apns")
        } catch {
            throw APNSTransportError(.resources, "the thread of the APNs transport cannot be started", cause: error)
        }
        engine = LoopBound(
            sending: TransportEngine(
                loop: loop,
                context: context,
                endpoints: endpoints,
                configuration: configuration,
                logger: logger,
                metrics: metrics
            ),
            to: loop
        )
        self.endpoints = endpoints
        self.providerTokens = ProviderTokens(store: providerTokens)
    }

    /// The name in lifecycle logs.
    package var description: String { "apns-client" }

    /// Waits for graceful shutdown, then lets what is under way end (by its deadlines) and closes all connections.
    ///
    /// When the task is cancelled, before or during that, what is under way is given up.
    package func run() async {
        // Only a cancelled wait throws, and what is to be done then the handler below does.
        try? await gracefulShutdown()
        await withTaskCancellationHandler {
            await close(abandoningWork: false)
        } onCancel: {
            loop.execute { [engine] in
                engine.value.abandonWork()
            }
        }
    }

    /// Gives up what is under way, closes all connections and ends the thread.
    package func shutDown() async {
        await close(abandoningWork: true)
    }

    private func close(abandoningWork: Bool) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let accepted = loop.execute { [engine] in
                engine.value.close(abandoningWork: abandoningWork) { continuation.resume() }
            }
            if !accepted {
                continuation.resume()
            }
        }
        await loop.shutDown()
    }

    /// The system's wall clock, UNIX seconds.
    package static func wallClock() -> Timestamp {
        Timestamp(time(nil))
    }

    // MARK: Pushes

    /// Sends the same push to many tokens and returns when each of them has an outcome, by the batch's deadline at the
    /// latest.
    package func send(_ batch: PushBatch) async -> BatchOutcome {
        if let refusal = batch.refusal {
            return BatchOutcome(count: batch.tokens.count, allAre: refusal)
        }
        guard !batch.tokens.isEmpty else {
            return BatchOutcome(accepted: 0, exceptions: [])
        }
        let due = ContinuousClock.now + batch.deadline
        return await underProviderToken(of: batch.identity, until: due) { token in
            await perform(batch, to: batch.tokens, token, due)
        } again: { first, token in
            let expired = first.exceptions.filter(\.outcome.isForExpiredToken).map(\.index)
            let second = await perform(batch, to: batch.tokens.selecting(expired), token, due)
            return first.replacing(expired, by: second)
        } missing: { outcome in
            BatchOutcome(count: batch.tokens.count, allAre: outcome)
        } outcomes: { outcome in
            outcome.exceptions.lazy.map(\.outcome)
        }
    }

    private func perform(
        _ batch: PushBatch,
        to tokens: TokenBuffer,
        _ providerToken: ProviderToken,
        _ due: ContinuousClock.Instant
    ) async -> BatchOutcome {
        let outcome = await perform(
            .devicePush(batch.headers),
            providerToken,
            tokens: tokens,
            body: batch.body,
            batch.environment,
            batch.identity,
            due: due,
            wantsReceipts: batch.wantsReceipts
        ) { work in
            work.outcome
        }
        return outcome ?? BatchOutcome(count: tokens.count, allAre: Self.isShutDown)
    }

    /// Sends one push to a channel.
    package func broadcast(_ push: BroadcastPush) async -> PushOutcome {
        if let refusal = push.refusal {
            return refusal
        }
        let answer = await performSingle(
            .broadcast(push),
            body: push.body,
            push.environment,
            push.identity,
            deadline: push.deadline
        )
        return answer.outcome
    }

    // MARK: Channels

    /// Makes a channel. Not repeated by itself: after an unknown outcome a channel may exist that only the list shows.
    package func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome {
        let answer = await performSingle(
            .channelCreation(bundleID: bundleID),
            body: RequestHead.channelCreationBody(storage: storage),
            environment,
            identity
        )
        guard answer.outcome.isAccepted else {
            return .failed(answer.outcome)
        }
        guard let channelID = answer.channelID.flatMap({ APNSChannelID($0) }) else {
            return .failed(answer.unusable("APNs made a channel and did not say which"))
        }
        return .created(channelID)
    }

    /// Deletes a channel for good.
    package func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome {
        let answer = await performSingle(
            .channelDeletion(bundleID: bundleID, channelID: channelID),
            body: nil,
            environment,
            identity
        )
        switch answer.outcome.class {
        case .accepted: return .deleted
        case .channelGone: return .alreadyGone
        default: return .failed(answer.outcome)
        }
    }

    /// Asks whether a channel exists, and what it stores.
    package func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome {
        let answer = await performSingle(
            .channelReading(bundleID: bundleID, channelID: channelID),
            body: nil,
            environment,
            identity
        )
        switch answer.outcome.class {
        case .accepted:
            guard let storage = ChannelAnswer.storage(in: answer.body) else {
                return .failed(answer.unusable("APNs described the channel in an unknown way"))
            }
            return .found(storage)
        case .channelGone:
            return .gone
        default:
            return .failed(answer.outcome)
        }
    }

    /// Lists all channels of an app in an environment.
    package func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome {
        let answer = await performSingle(.channelList(bundleID: bundleID), body: nil, environment, identity)
        guard answer.outcome.isAccepted else {
            return .failed(answer.outcome)
        }
        guard let channels = ChannelAnswer.list(in: answer.body) else {
            return .failed(answer.unusable("APNs listed the channels in an unknown way"))
        }
        return .listed(channels)
    }

    // MARK: Reachability

    /// Where an API listens, as this client was configured.
    package func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        endpoints[environment, api]
    }

    /// Connects to an API as pushes do and hangs up, without a request; over by `deadline`.
    package func reach(
        _ environment: APNSEnvironment,
        _ api: APNSAPI,
        deadline: Duration
    ) async -> ReachabilityOutcome {
        let endpoint = endpoint(environment, api)
        return await withCheckedContinuation { continuation in
            let accepted = loop.execute { [engine] in
                engine.value.tryConnecting(to: endpoint, deadline: deadline) { continuation.resume(returning: $0) }
            }
            if !accepted {
                continuation.resume(returning: .failed(.other, detail: "the transport is shut down"))
            }
        }
    }

    // MARK: The loop

    private static let isShutDown = PushOutcome(.notSent, detail: "the transport is shut down")

    /// A single request's outcome, with what else its answer says.
    private struct SingleAnswer: Sendable {
        var outcome: PushOutcome
        var channelID: String?
        var body: [UInt8] = []

        /// The outcome for a success that cannot be understood: whatever was asked for may have happened.
        func unusable(_ detail: String) -> PushOutcome {
            PushOutcome(.unknown, status: outcome.status, apnsID: outcome.apnsID, detail: detail)
        }
    }

    private func performSingle(
        _ head: RequestHead,
        body: [UInt8]?,
        _ environment: APNSEnvironment,
        _ identity: SigningIdentity,
        deadline: Duration = APNSClient.channelDeadline
    ) async -> SingleAnswer {
        if let refusal = RequestRules.head(head) {
            return SingleAnswer(outcome: refusal)
        }
        let due = ContinuousClock.now + deadline
        return await underProviderToken(of: identity, until: due) { token in
            await performOnce(head, token, body: body, environment, identity, due)
        } again: { _, token in
            await performOnce(head, token, body: body, environment, identity, due)
        } missing: { outcome in
            SingleAnswer(outcome: outcome)
        } outcomes: { answer in
            CollectionOfOne(answer.outcome)
        }
    }

    private func performOnce(
        _ head: RequestHead,
        _ providerToken: ProviderToken,
        body: [UInt8]?,
        _ environment: APNSEnvironment,
        _ identity: SigningIdentity,
        _ due: ContinuousClock.Instant
    ) async -> SingleAnswer {
        let answer = await perform(
            head,
            providerToken,
            tokens: nil,
            body: body,
            environment,
            identity,
            due: due
        ) { work in
            if let exception = work.ledger.exceptions.first {
                return SingleAnswer(outcome: exception.outcome)
            }
            let fields = work.response?.fields
            return SingleAnswer(
                outcome: PushOutcome(
                    .accepted,
                    status: work.response?.status,
                    apnsID: fields?.apnsID,
                    uniqueID: fields?.uniqueID
                ),
                channelID: fields?["apns-channel-id"],
                body: work.response?.body ?? []
            )
        }
        return answer ?? SingleAnswer(outcome: Self.isShutDown)
    }

    /// Sends with the identity's provider token, and what Apple calls expired once more with its successor, if there is
    /// one.
    private func underProviderToken<Result, Outcomes: Sequence<PushOutcome>>(
        of identity: SigningIdentity,
        until due: ContinuousClock.Instant,
        _ send: (ProviderToken) async -> Result,
        again: (Result, ProviderToken) async -> Result,
        missing: (PushOutcome) -> Result,
        outcomes: (Result) -> Outcomes
    ) async -> Result {
        let token: ProviderToken
        do {
            token = try await providerTokens.token(for: identity, until: due)
        } catch {
            return missing(error.outcome)
        }
        var result = await send(token)
        if outcomes(result).contains(where: \.isForExpiredToken),
            let successor = await providerTokens.successor(of: token, for: identity, until: due)
        {
            result = await again(result, successor)
        }
        if outcomes(result).contains(where: \.isForTooManyTokens) {
            await providerTokens.tooMany(for: identity, until: due)
        }
        return result
    }

    /// Hands a work to the loop and waits for it; nil if the loop is gone.
    private func perform<Result: Sendable>(
        _ head: RequestHead,
        _ providerToken: ProviderToken,
        tokens: TokenBuffer?,
        body: [UInt8]?,
        _ environment: APNSEnvironment,
        _ identity: SigningIdentity,
        due: ContinuousClock.Instant,
        wantsReceipts: Bool = false,
        result: @escaping @Sendable (Work) -> Result
    ) async -> Result? {
        let cancellation = WorkCancellation(loop: loop)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result?, Never>) in
                let accepted = loop.execute { [engine] in
                    cancellation.arm(
                        engine.value.submit(
                            head,
                            providerToken: providerToken,
                            tokens: tokens,
                            body: body,
                            environment: environment,
                            identity: identity,
                            deadline: due,
                            wantsReceipts: wantsReceipts
                        ) { work in
                            cancellation.disarm()
                            continuation.resume(returning: result(work))
                        }
                    )
                }
                if !accepted {
                    continuation.resume(returning: nil)
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
