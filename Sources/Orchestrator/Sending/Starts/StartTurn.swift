import APNSTransport
import ActivityModel
import Channels
import Postgres
import Store

/// One batch of starts: claimed by row before they leave, settled by row when they are answered (promise 6).
struct StartTurn: Sendable {
    let orchestrator: Orchestrator
    /// Nil where no worker of the dispatcher does this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    let activity: ActivitySnapshot

    /// The content that all starts of a batch share.
    private struct Content {
        let change: ChangeToSend
        let alert: AlertContent?
        /// Nil if the policy wants none.
        let fallback: FallbackAlert?
        let identity: SigningIdentity
        let channel: APNSChannelID?
        let detail: TimelineDetail

        /// For a card that continues another: iOS wants an alert, and there is no news.
        var quiet: Content {
            Content(
                change: change,
                alert: alert?.silent,
                fallback: fallback,
                identity: identity,
                channel: channel,
                detail: detail
            )
        }
    }

    /// Starts of a batch with one body.
    private struct Group: Hashable {
        let capability: DeviceCapability
        let isQuiet: Bool
    }

    /// The first of a large audience leave while the last are still to be made.
    func run() async throws -> SegmentWorker.Turn {
        let isMore = try await orchestrator.enrolStretch(of: activity, under: lease)
        let turn = try await sendDue()
        return isMore ? turn.joined(with: .worked) : turn
    }

    private func sendDue() async throws -> SegmentWorker.Turn {
        let (channel, isDue) = try await prospect()
        // The channel wakes the rings when it is ready.
        guard isDue, channel != nil || activity.delivery != .channel else { return .idle }
        // Everything that may fail comes before the claim, which a start should not have for nothing.
        guard let change = try await orchestrator.changes.stamped(activity.newest, under: lease) else { return .idle }
        let alert = try await orchestrator.changes.startAlert(activity.key)
        let content = Content(
            change: change,
            alert: alert,
            fallback: activity.policy.fallbackAlert ? try alert.map { try FallbackAlert($0, for: activity) } : nil,
            identity: try await orchestrator.signing.identity(of: activity.bundleID, activity.environment),
            channel: channel,
            detail: try await orchestrator.timeline.detail(of: activity.key, count: StartClaims.batchSize)
        )
        // A hybrid activity that cannot have its channel now does without.
        let delivery = channel == nil ? .tokens : activity.delivery
        let claims = StartClaims(
            orchestrator: orchestrator,
            activity: activity,
            delivery: delivery,
            contentState: change.contentState
        )
        return try await send(claims, content)
    }

    /// Batches on their way at the same time, so that a start costs no round trip to APNs of its own. A crash leaves at
    /// most these batches in doubt.
    static let batchesAtOnce = 4

    private func send(_ claims: StartClaims, _ content: Content) async throws -> SegmentWorker.Turn {
        try await withThrowingTaskGroup(of: SegmentWorker.Turn.self) { group in
            var first: PGTimestamp?
            for place in 0..<Self.batchesAtOnce {
                // The batches before are still waiting for their answers.
                if place > 0, !(try await orchestrator.segments.mayGoOn(lease, with: activity)) { break }
                let end = orchestrator.settings.uptime() + .seconds(activity.policy.startRetrySeconds)
                guard let batch = try await claims.claim(dueBy: first) else { break }
                first = first ?? batch.askedAt
                // The due starts are locked: another activity is starting the same devices, or they are registering.
                if batch.count == 0, place == 0 { return .early(.milliseconds(50)) }
                group.addTask { try await send(batch, content, until: end) }
                if batch.count < StartClaims.batchSize { break }
            }
            return try await group.reduce(.worked) { $0.joined(with: $1) }
        }
    }

    /// Looks at the channel, and whether a start is due.
    private func prospect() async throws -> (channel: APNSChannelID?, isDue: Bool) {
        let results = try await orchestrator.database.pipeline([
            """
            SELECT \(unescaped: ChannelRows.mayStart)
               AND \(unescaped: ActivitySnapshot.areStartsDue)
            FROM activities AS a WHERE a.activity_key = \(activity.key)
            """,
            // Read last: a channel that was ready a moment ago is there now.
            "SELECT apns_channel_id FROM channels WHERE activity_key = \(activity.key) AND state = 'ready'",
        ])
        let channel = try results[1].single(String?.self).flatMap { $0 }.map(APNSChannelID.init(stored:))
        return (channel, try results[0].single(Bool.self) ?? false)
    }

    /// The claims of the batch are over at `end`, as ``OrchestratorSettings/uptime``.
    private func send(
        _ batch: StartClaims.Batch,
        _ content: Content,
        until end: Duration
    ) async throws -> SegmentWorker.Turn {
        var results = StartResults(backoff: orchestrator.settings.backoff)
        let groups = Dictionary(grouping: batch.starts) { Group(capability: $0.capability, isQuiet: $0.isContinuation) }
        for (group, members) in groups {
            let content = group.isQuiet ? content.quiet : content
            switch group.capability {
            case .withInputPushChannel: await send(content, content.channel.map { .channel($0) }, members, &results)
            case .withInputPushToken: await send(content, .token, members, &results)
            case .plain: await send(content, LiveActivityBody.InputPush.none, members, &results)
            case .withheld: continue  // never claimed as a start
            }
        }
        if !batch.alerts.isEmpty, let fallback = content.fallback {
            var push = fallback.batch(
                content.identity,
                to: batch.alerts.compactMap(\.deviceToken),
                now: content.change.timestamp,
                deadline: orchestrator.settings.pushDeadline
            )
            push.wantsReceipts = content.detail.wantsReceipts
            await send(push, as: .alert, batch.alerts, content) { results.answerAlert($0, $1) }
        }
        if !batch.starts.isEmpty || !batch.alerts.isEmpty {
            try await StartSettlement(orchestrator: orchestrator, activity: activity, results: results, end: end).run()
        }
        return results.credentialFailure.map { .failed(reason: $0) } ?? .worked
    }

    private func send(
        _ content: Content,
        _ inputPush: LiveActivityBody.InputPush?,
        _ members: [ClaimedStart],
        _ results: inout StartResults
    ) async {
        guard let inputPush else { return }
        let rendering = LiveActivityRendering(change: content.change, alert: content.alert, activity: activity)
        let batch = PushBatch(
            environment: activity.environment,
            identity: content.identity,
            headers: PushHeaders(
                bundleID: activity.bundleID,
                priority: PriorityRule.start.priority,
                expiration: activity.policy.expiration(of: .start, at: content.change.timestamp)
            ),
            body: rendering.start(inputPush: inputPush),
            tokens: TokenBuffer(members.compactMap(\.token)),
            deadline: orchestrator.settings.pushDeadline,
            wantsReceipts: content.detail.wantsReceipts
        )
        await send(batch, as: .start, members, content) { results.answer($0, inputPush, $1) }
    }

    private func send(
        _ batch: PushBatch,
        as event: TimelineRow.Event,
        _ members: [ClaimedStart],
        _ content: Content,
        answer: (ClaimedStart, PushOutcome?) -> Void
    ) async {
        let answers = await orchestrator.send(batch, to: members.map(\.deviceKey), slot: slot)
        orchestrator.timeline.record(
            TimelineSending(
                activity: activity.names,
                segment: lease.segment,
                event: event,
                revision: activity.newest,
                origin: content.change.origin,
                priority: batch.headers.priority,
                detail: content.detail
            ),
            to: members.map(\.deviceKey),
            answers
        )
        var exceptions: [Int: PushOutcome] = [:]
        for exception in answers.exceptions {
            exceptions[exception.index] = exception.outcome
        }
        for (index, member) in members.enumerated() {
            answer(member, exceptions[index])
        }
    }
}
