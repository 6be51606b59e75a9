package import ActivityModel
internal import Glibc
internal import HTTP2Engine
package import Logging
package import Metrics
internal import Reactor
internal import ServiceLifecycle
internal import TLSEngine

/// Sends requests to Apple: pushes to tokens and channels, and the management of channels.
///
/// One thread does all work. It lives until ``run()`` ends or ``shutDown()`` is called. Sending works immediately after
/// `init`. Every call ends by its deadline, and Apple's answers are never thrown. If the calling task is cancelled,
/// waiting pushes are not sent, and pushes in flight still get their answers.
package final class APNSClient: Service, CustomStringConvertible, Sendable {
    /// The deadline of a request about channels.
    package static let channelDeadline: Duration = .seconds(10)

    private let loop: EventLoop
    private let engine: LoopBound<TransportEngine>
    private let providerTokens: ProviderTokens
    private let endpoints: APNSEndpoints

    /// Creates a client and starts its thread, without sending anything.
    ///
    /// `caFile` names a PEM file of trust roots in addition to the system's. `providerTokens` are shared by all senders
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
        let context = try Self.context(caFile: caFile)
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

    /// Checks a file of trust roots.
    ///
    /// - Throws: ``APNSTransportError/Code/trust``.
    package static func check(caFile: String) throws(APNSTransportError) {
        _ = try context(caFile: caFile)
    }

    private static func context(caFile: String?) throws(APNSTransportError) -> TLSContext {
        do {
            return try TLSContext.client(caFile: caFile)
        } catch {
            throw APNSTransportError(.trust, "the trust roots for APNs cannot be loaded", cause: error)
        }
    }

    /// The name in lifecycle logs.
    package var description: String { "apns-client" }

    /// Waits for graceful shutdown. Then it lets open requests finish (by their deadlines) and closes all connections.
    ///
    /// If the task is cancelled, before or during that, open requests are given up.
    package func run() async {
        // Only a cancelled wait throws, and the cancellation handler below does the rest.
        try? await gracefulShutdown()
        await withTaskCancellationHandler {
            await close(abandoningWork: false)
        } onCancel: {
            loop.execute { [engine] in
                engine.value.abandonWork()
            }
        }
    }

    /// Gives up open requests, closes all connections and ends the thread.
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

    /// Sends the same push to many tokens. Returns when each has an outcome, by the batch's deadline at the latest.
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

    /// Creates a channel. It never retries: after an unknown outcome a channel may exist that only the list shows.
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

    /// Deletes a channel permanently.
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

    /// Reads whether a channel exists, and its storage policy.
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

    /// The configured endpoint of an API.
    package func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        endpoints[environment, api]
    }

    /// Connects to an API like a push would, then closes without a request, by `deadline` at the latest.
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

    /// The outcome of a single request, with the other parts of its answer.
    private struct SingleAnswer: Sendable {
        var outcome: PushOutcome
        var channelID: String?
        var body: [UInt8] = []

        /// The outcome for a success with an unreadable answer: the request may have taken effect.
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

    /// Sends with the identity's provider token. If Apple calls that expired, it sends the refused requests once more
    /// with the next token, if there is one.
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

    /// Submits work to the loop and waits for its result; `nil` if the loop has ended.
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
