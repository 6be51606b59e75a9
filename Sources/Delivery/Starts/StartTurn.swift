import APNSTransport
import ActivityModel
import Channels
import DeliveryStore
import Postgres
import ServiceLifecycle
import Store

/// The starts of an activity for a short while: claimed by row before they leave, settled by row when they are answered
/// (promise 6).
///
/// Some batches are on their way at the same time, and the next is claimed when one of them is settled. Meanwhile the rest
/// of a large audience is enrolled, on another connection. The promises do not depend on the order of these:
///
/// - Each claim shows the lease in its own transaction. A daemon that has lost the lease claims nothing more. What it has
///   enrolled is enrolled once more, which changes nothing. It settles what has left: an answer is stored only for its
///   claim.
/// - Each claim holds the activity until its COMMIT, and asks whether it is live. So an end stops the next batch.
/// - Each claim locks its devices and reads their budgets after that.
/// - Each claim asks whether its devices are still wanted, also if they were enrolled a moment ago.
struct StartTurn: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    let activity: ActivitySnapshot
    let enrolment: AudienceEnrolment

    /// Batches on their way at the same time, so that a start costs no round trip to APNs of its own. One that is being
    /// settled counts. So a crash leaves at most these batches in doubt.
    static let batchesAtOnce = 4

    /// The time after which a turn claims nothing more: cards and changes wait for the turn to end.
    private static let longestTime = Duration.milliseconds(250)

    /// The content that all starts of a turn share.
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

    func run() async throws -> TurnResult {
        let end = room.settings.uptime() + Self.longestTime
        var rest = activity.enrolment
        // Starts that wait already leave first.
        let isFirst = rest != nil && activity.areStartsDue
        var departure = isFirst ? try await prepare() : nil
        if departure == nil {
            if let place = rest { rest = try await enrolment.begin(after: place) { mustEnd(by: end) } }
            departure = try await prepare()
        }
        guard let (claims, content) = departure else { return rest == nil ? .idle : .worked }
        let turn = try await sendBatches(claims, content, enrolling: rest, until: end)
        return rest == nil ? turn : turn.joined(with: .worked)
    }

    /// All that may fail comes before the first claim, which a start should not have for nothing. Nil if nothing is due.
    private func prepare() async throws -> (StartClaims, Content)? {
        let prospect = try await room.work.startProspect(of: activity.key)
        let channel = prospect.channel
        // The channel wakes the rings when it is ready.
        guard prospect.isDue, channel != nil || activity.delivery != .channel else { return nil }
        guard let change = try await room.changes.stamped(activity.newest, under: lease) else { return nil }
        let alert = try await room.changes.startAlert(activity.key)
        let content = Content(
            change: change,
            alert: alert,
            fallback: activity.policy.fallbackAlert ? alert.map { FallbackAlert($0, for: activity) } : nil,
            identity: try await room.signing.identity(of: activity.bundleID, activity.environment),
            channel: channel,
            detail: try await room.timeline.detail(of: activity.key, count: StartClaims.batchSize)
        )
        let claims = StartClaims(
            room: room,
            lease: lease,
            activity: activity,
            // A hybrid activity that cannot have its channel now does without.
            delivery: channel == nil ? .tokens : activity.delivery,
            change: change
        )
        return (claims, content)
    }

    /// Whether nothing more may begin, for others to have their turn.
    private func mustEnd(by end: Duration) -> Bool {
        slot?.mustYield == true || Task.isShuttingDownGracefully || room.settings.uptime() >= end
    }

    // MARK: Batch after batch

    /// How far a turn has come.
    private struct Course {
        /// Where the enrolment goes on; nil if all of the audience has become starts.
        var rest: AudienceStretch.Cursor?
        var isEnrolling = false
        /// The batches on their way by their numbers, and when the first claim of each may be repeated.
        var open: [Int: PGTimestamp] = [:]
        /// How many batches were asked for.
        var asked = 0
        /// The end of the last batch.
        var last = DueStart.Position.beginning
        /// Whether more starts may be due.
        var isDue = true
        /// Whether nothing more may begin.
        var isOver = false
        var turn = TurnResult.idle
        var failure: (any Error)?

        mutating func take(_ step: Step) {
            switch step {
            case .batch(let number, let result):
                open[number] = nil
                turn = turn.joined(with: result)
                // APNs takes nothing from this app.
                if case .failed = result { isOver = true }
            case .enrolled(.success(let rest)):
                (self.rest, isEnrolling) = (rest, false)
                // Its starts may be due before those that were claimed meanwhile.
                (isDue, last) = (true, .beginning)
                turn = turn.joined(with: .worked)
            case .enrolled(.failure(let error)):
                (rest, isEnrolling, isOver, failure) = (nil, false, true, error)
            }
        }
    }

    /// What a turn has waited for.
    private enum Step: Sendable {
        /// A batch was answered and settled.
        case batch(Int, TurnResult)
        /// An enrolment has ended, at a place or with the audience. Its failure does not matter to the pushes that have left.
        case enrolled(Result<AudienceStretch.Cursor?, any Error>)
    }

    private typealias Steps = ThrowingTaskGroup<Step, any Error>

    /// Returns when all that has left is settled.
    private func sendBatches(
        _ claims: StartClaims,
        _ content: Content,
        enrolling rest: AudienceStretch.Cursor?,
        until end: Duration
    ) async throws -> TurnResult {
        try await withThrowingTaskGroup(of: Step.self) { steps in
            var course = Course(rest: rest)
            while true {
                let isLate = mustEnd(by: end)
                if !isLate, !course.isOver, !course.isEnrolling, !activity.isProbe, let place = course.rest {
                    course.isEnrolling = true
                    steps.addTask { await .enrolled(enrolment.goOn(after: place)) }
                }
                // The turn lasts until the enrolment has ended, so claims go on until then.
                if isLate, course.asked > 0, !course.isEnrolling { course.isOver = true }
                enrolment.isAwaited = isLate || course.isOver || !course.isDue
                if !course.isOver, course.isDue, course.open.count < Self.batchesAtOnce {
                    try await begin(claims, content, &course, &steps)
                } else if let step = try await steps.next() {
                    course.take(step)
                } else {
                    break
                }
            }
            if let failure = course.failure { throw failure }
            return course.turn
        }
    }

    /// Claims the next batch, and lets it leave.
    private func begin(
        _ claims: StartClaims,
        _ content: Content,
        _ course: inout Course,
        _ steps: inout Steps
    ) async throws {
        let end = room.settings.uptime() + .seconds(activity.policy.startRetrySeconds)
        let number = course.asked
        course.asked += 1
        let limit = course.open.values.min()
        guard let batch = try await claims.claim(behind: course.last, before: limit, isFirst: number == 0) else {
            // Another look finds out why.
            course.isOver = true
            course.turn = course.turn.joined(with: .worked)
            return
        }
        let isFull = batch.count == activity.batch(StartClaims.batchSize)
        // A probe claims few. If nothing of them can leave it takes the next, or it would try nothing.
        course.isDue = isFull && (!activity.isProbe || (batch.starts.isEmpty && batch.alerts.isEmpty))
        guard let last = batch.last else {
            // The due starts are locked: another activity is starting the same devices, or they are registering.
            if number == 0 { course.turn = course.turn.joined(with: .early(.milliseconds(50))) }
            return
        }
        course.last = last
        course.open[number] = batch.repeatsAt ?? PGTimestamp(microseconds: .max)
        steps.addTask { try await .batch(number, sendBatch(batch, content, until: end)) }
    }

    /// The claims of the batch are over at `end`, as ``OrchestratorSettings/uptime``.
    private func sendBatch(
        _ batch: StartClaims.Batch,
        _ content: Content,
        until end: Duration
    ) async throws -> TurnResult {
        var results = StartResults(backoff: room.settings.backoff, environment: activity.environment)
        let groups = Dictionary(grouping: batch.starts) { Group(capability: $0.capability, isQuiet: $0.isContinuation) }
        for (group, members) in groups {
            let content = group.isQuiet ? content.quiet : content
            switch group.capability {
            case .withInputPushChannel:
                await sendGroup(members, content, content.channel.map { .channel($0) }, &results)
            case .withInputPushToken: await sendGroup(members, content, .token, &results)
            case .plain: await sendGroup(members, content, LiveActivityBody.InputPush.none, &results)
            case .withheld: continue  // never claimed as a start
            }
        }
        if !batch.alerts.isEmpty, let fallback = content.fallback {
            let pass = pass(of: .alert, content, fallback.headers(at: content.change.timestamp), fallback.body)
            let tokens = batch.alerts.compactMap(\.deviceToken)
            await sendPass(pass, to: tokens, of: batch.alerts) { results.answerAlert($0, $1) }
        }
        if !batch.starts.isEmpty || !batch.alerts.isEmpty {
            try await StartSettlement(room: room, activity: activity, results: results, end: end).run()
        }
        return results.credentialFailure.map { .failed(reason: $0) } ?? .worked
    }

    private func sendGroup(
        _ members: [ClaimedStart],
        _ content: Content,
        _ inputPush: LiveActivityBody.InputPush?,
        _ results: inout StartResults
    ) async {
        guard let inputPush else { return }
        let rendering = LiveActivityRendering(change: content.change, alert: content.alert, activity: activity)
        let headers = PushHeaders(
            bundleID: activity.bundleID,
            priority: PriorityRule.start.priority,
            expiration: activity.policy.expiration(of: .start, at: content.change.timestamp)
        )
        let pass = pass(of: .start, content, headers, rendering.start(inputPush: inputPush))
        await sendPass(pass, to: members.compactMap(\.token), of: members) { results.answer($0, inputPush, $1) }
    }

    private func pass(
        of event: TimelineRow.Event,
        _ content: Content,
        _ headers: PushHeaders,
        _ body: [UInt8]
    ) -> Pass {
        Pass(
            of: event,
            in: activity.names,
            content.identity,
            headers,
            body,
            segment: lease.segment,
            revision: activity.newest,
            origin: content.change.origin,
            detail: content.detail
        )
    }

    private func sendPass(
        _ pass: Pass,
        to tokens: [PushToken],
        of members: [ClaimedStart],
        answer: (ClaimedStart, PushOutcome?) -> Void
    ) async {
        let destinations = Pass.Destinations.tokens(TokenBuffer(tokens), devices: members.map(\.deviceKey))
        let answers = await room.send(pass, to: destinations, slot: slot)
        var exceptions: [Int: PushOutcome] = [:]
        for exception in answers.exceptions {
            exceptions[exception.index] = exception.outcome
        }
        for (index, member) in members.enumerated() {
            answer(member, exceptions[index])
        }
    }
}
