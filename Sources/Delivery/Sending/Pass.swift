import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import Logging
import Postgres
import Store

/// One body under one set of headers, for any number of tokens or for a channel.
///
/// Whatever is sent leaves in a pass: changes, broadcasts, starts, alerts, wake-ups and ordinary pushes. Each kind of work
/// reads who is to be sent something, makes a pass, and stores what the answers mean (``Consequence``) in its own rows.
struct Pass: Sendable {
    /// Where a pass goes.
    enum Destinations: Sendable {
        /// `devices` are the keys of the devices of the tokens, in their order. An ordinary push has its
        /// ``QueuedPush/destinationKey`` instead.
        case tokens(TokenBuffer, devices: [Int64])
        /// The channel of an activity. It is one push, and its answer is one.
        case channel(APNSChannelID, ChannelStorage)

        init(_ destinations: [Destination]) {
            self = .tokens(TokenBuffer(destinations.map(\.token)), devices: destinations.map(\.deviceKey))
        }
    }

    fileprivate let environment: APNSEnvironment
    fileprivate let identity: SigningIdentity
    fileprivate let headers: PushHeaders
    fileprivate let body: [UInt8]
    fileprivate let wantsReceipts: Bool
    /// How the timeline tells of it; nil if an event tells what came of each push.
    fileprivate let told: TimelineSending?

    /// A pass to cards or devices of an activity, or to its channel.
    init(
        of event: TimelineRow.Event,
        in activity: ActivityNames,
        _ identity: SigningIdentity,
        _ headers: PushHeaders,
        _ body: [UInt8],
        segment: Int16? = nil,
        revision: Revision? = nil,
        origin: RequestOrigin? = nil,
        detail: TimelineDetail
    ) {
        environment = activity.environment
        self.identity = identity
        self.headers = headers
        self.body = body
        wantsReceipts = detail.wantsReceipts
        told = TimelineSending(
            activity: activity,
            segment: segment,
            event: event,
            revision: revision,
            origin: origin,
            priority: headers.priority,
            detail: detail
        )
    }

    /// An ordinary push.
    init(_ push: QueuedPush, _ identity: SigningIdentity) {
        environment = push.environment
        self.identity = identity
        headers = push.headers
        body = push.body
        wantsReceipts = false
        told = nil
    }
}

extension DeliveryRoom {
    /// Sends a pass. Counts the answers of APNs about tokens for the halts, and takes all down for the timeline.
    ///
    /// - Parameters:
    ///   - pass: What is sent.
    ///   - destinations: Where it goes.
    ///   - slot: That of the worker which sends; nil if no worker of the dispatcher does.
    /// - Returns: The answers of APNs.
    func send(_ pass: Pass, to destinations: Pass.Destinations, slot: WorkerSlot?) async -> BatchOutcome {
        switch destinations {
        case .tokens(let tokens, let devices): await send(pass, to: tokens, of: devices, slot)
        case .channel(let channel, let storage): await send(pass, to: channel, storage, slot)
        }
    }

    private func send(
        _ pass: Pass,
        to tokens: TokenBuffer,
        of devices: [Int64],
        _ slot: WorkerSlot?
    ) async -> BatchOutcome {
        let batch = PushBatch(
            environment: pass.environment,
            identity: pass.identity,
            headers: pass.headers,
            body: pass.body,
            tokens: tokens,
            deadline: settings.pushDeadline,
            wantsReceipts: pass.wantsReceipts
        )
        let outcome = await slot.awaiting { await sender.send(batch) }
        let scope = HaltScope(app: pass.headers.bundleID, environment: pass.environment)
        watchCredentials(outcome, at: CredentialRefusals.Place(scope: scope, isBroadcast: false))
        await halts.observe(
            AnswerWatch.Count(answers: outcome.answered, rejections: outcome.rejected),
            of: outcome.exceptions.compactMap { exception in
                exception.isRejection && exception.index < devices.count ? devices[exception.index] : nil
            },
            in: scope
        )
        if let told = pass.told { timeline.record(told, to: devices, outcome) }
        return outcome
    }

    private func send(
        _ pass: Pass,
        to channel: APNSChannelID,
        _ storage: ChannelStorage,
        _ slot: WorkerSlot?
    ) async -> BatchOutcome {
        let push = BroadcastPush(
            environment: pass.environment,
            identity: pass.identity,
            bundleID: pass.headers.bundleID,
            channelID: channel,
            storage: storage,
            priority: pass.headers.priority,
            expiration: pass.headers.expiration ?? 0,
            body: pass.body,
            deadline: settings.pushDeadline
        )
        let departure = ContinuousClock.now
        let answer = await slot.awaiting { await sender.broadcast(push) }
        let outcome = BatchOutcome(single: answer, latency: departure.duration(to: .now))
        let scope = HaltScope(app: pass.headers.bundleID, environment: pass.environment)
        watchCredentials(outcome, at: CredentialRefusals.Place(scope: scope, isBroadcast: true))
        if let told = pass.told { timeline.record(told, broadcast: outcome) }
        return outcome
    }

    /// Takes down whether APNs refuses key, team, topic or capability, and logs that once a minute.
    private func watchCredentials(_ outcome: BatchOutcome, at place: CredentialRefusals.Place) {
        guard let refusal = store.credentials.observe(outcome, at: place) else { return }
        logger.warning(
            "APNs refuses the credential of an app",
            metadata: [
                "app": "\(place.scope.app)", "environment": "\(place.scope.environment.rawValue)",
                "reason": "\(refusal.words)",
            ]
        )
    }

    /// Runs statements that settle answers in one transaction. In a task of its own: otherwise a stopping daemon would lose
    /// the answers, and another would send the pushes again.
    func settle(_ statements: [Query]) async throws {
        guard !statements.isEmpty else { return }
        let database = database
        try await Task {
            _ = try await database.withTransaction { try await $0.commit(statements) }
        }.value
    }
}
