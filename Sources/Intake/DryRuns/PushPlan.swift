import APITypes
import APNSTransport
import ActivityModel
import Cards
import Channels
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

/// The pushes of the newest change of an activity, read within the transaction that has written it.
struct PushPlan {
    private let change: ChangeToSend
    private let activity: ActivitySnapshot

    static func read(
        _ key: Int64,
        revision: Revision,
        on connection: PostgresConnection
    ) async throws -> PushPlan {
        guard let change = try await ChangeStore.preview(revision, of: key, on: connection),
            let activity = try await ActivitySnapshot.read(
                key,
                connection.query(ActivitySnapshot.selection(key, for: SegmentRows.firstRing, begun: revision))
            )
        else { throw Problem.notFound("the activity") }
        return PushPlan(change: change, activity: activity)
    }

    /// The answer without its pushes.
    var answer: DryRunAnswer {
        DryRunAnswer(
            activityID: activity.activityID,
            revision: change.revision,
            timestamp: change.timestamp,
            isHalted: activity.halt != nil
        )
    }

    // MARK: Starts

    /// A push for each form of a start that the reached devices need, and how many devices get none.
    ///
    /// Ignores the start budgets of the phones: they will have changed when the start leaves.
    func starts(
        for counts: StartCounts,
        _ type: TypeContext,
        on connection: PostgresConnection
    ) async throws -> (pushes: [PlannedPush], withheld: [String: Int]) {
        var pushes: [LiveActivityBody.InputPush: Int] = [:]
        var withheld: [String: Int] = [:]
        let channel = try await channel(on: connection)
        let decodings = try await StartVersions.decodings(of: activity.key, on: connection)
        var versions = StartVersions(activity, type, newest: activity.newest, change.contentState)
        for (sort, devices) in counts.devices {
            let capability = DeviceCapability(
                osVersion: sort.osVersion.flatMap { OSVersion($0) },
                activitiesEnabled: sort.activitiesEnabled,
                delivery: activity.delivery
            )
            let obstacle = try StartStateMachine.Obstacle.first(
                capability: capability,
                isDecodable: versions.mayStart(
                    sort.appVersion,
                    decodings[sort.appVersion],
                    onChannel: capability == .withInputPushChannel
                ),
                hasToken: sort.hasToken,
                budgetUntil: nil
            )
            if let obstacle {
                withheld[obstacle.word, default: 0] += devices
                continue
            }
            let input: LiveActivityBody.InputPush =
                switch capability {
                case .withInputPushChannel: Self.input(channel)
                case .withInputPushToken: .token
                case .plain, .withheld: .none
                }
            pushes[input, default: 0] += devices
        }
        if pushes.isEmpty {
            // Nobody is there yet; this is what most devices will get.
            pushes[activity.delivery.usesChannel ? Self.input(channel) : .token] = 0
        }
        return (pushes.sorted { ($1.value, "\($0.key)") < ($0.value, "\($1.key)") }.map(start), withheld)
    }

    private static func input(_ channel: ServingChannel?) -> LiveActivityBody.InputPush {
        .channel(channel?.apnsID ?? unmade)
    }

    private func start(_ input: LiveActivityBody.InputPush, _ devices: Int) -> PlannedPush {
        let rendering = LiveActivityRendering(change: change, alert: change.alert, activity: activity)
        return push(.start, to: .startTokens, devices, nil, PriorityRule.start, rendering.start(inputPush: input))
    }

    // MARK: Updates and ends

    /// A push for each budget that cards are counted against, and one for the channel; and how many cards get none now.
    ///
    /// `identity` is required if there is a channel.
    func changes(
        for counts: CardCounts,
        _ identity: SigningIdentity?,
        on connection: PostgresConnection
    ) async throws -> (pushes: [PlannedPush], withheld: [String: Int]) {
        let versions = try await connection.query(AppVersionRows.selection([activity.key]))
        var (cards, withheld) = try counts.split(versions: versions, isEnd: change.kind == .end)
        if cards.isEmpty, activity.delivery != .channel { cards[.ordinary] = 0 }
        var pushes: [PlannedPush] = []
        for budgetClass in [BudgetClass.ordinary, .frequent] {
            guard let count = cards[budgetClass] else { continue }
            let (body, decision) = try await content(segment: 0, budgetClass, on: connection)
            pushes.append(push(change.kind, to: .updateTokens, count, budgetClass, decision, body))
        }
        if let channel = try await channel(on: connection), let identity {
            let (body, decision) = try await content(segment: SegmentRows.channelSegment, .channel, on: connection)
            pushes.append(broadcast(to: channel, identity, decision, body))
        }
        return (pushes, withheld)
    }

    /// The body with the newest alert that the channel, or some ring, has not sent yet, and the priority.
    private func content(
        segment: Int16,
        _ budgetClass: BudgetClass,
        on connection: PostgresConnection
    ) async throws -> (body: [UInt8], decision: PriorityDecision) {
        let begun =
            try await connection.query(SegmentRows.reached(by: segment, of: activity.key)).single(Int64?.self) ?? nil
        let alert = try await ChangeStore.newestAlert(
            activity.key,
            after: begun ?? 0,
            upTo: change.revision,
            on: { try await connection.query($0) }
        )
        let decision = try await BudgetLedger.judge(
            change,
            alert: alert?.revision,
            in: activity,
            for: budgetClass,
            on: connection
        )
        return (LiveActivityRendering(change: change, alert: alert?.content, activity: activity).body(), decision)
    }

    // MARK: The channel

    /// A placeholder for the id of a channel that Apple has not made yet.
    private static let unmade = APNSChannelID(stored: "(made when the activity starts)")

    private func channel(on connection: PostgresConnection) async throws -> ServingChannel? {
        guard activity.delivery.usesChannel else { return nil }
        return try await ServingChannel.read(of: activity.key, on: connection)
    }

    private func broadcast(
        to channel: ServingChannel,
        _ identity: SigningIdentity,
        _ decision: PriorityDecision,
        _ body: [UInt8]
    ) -> PlannedPush {
        let push = BroadcastPush(
            environment: activity.environment,
            identity: identity,
            bundleID: activity.bundleID,
            channelID: channel.apnsID ?? Self.unmade,
            storage: channel.storage,
            priority: decision.priority,
            expiration: activity.policy.expiration(of: change.kind, at: change.timestamp, storage: channel.storage),
            body: body
        )
        let head = RequestHead.broadcast(push)
        return planned(change.kind, to: .channel, 1, .channel, decision, head, path: head.path, body)
    }

    // MARK: Pushes

    private func push(
        _ event: ChangeKind,
        to destination: PlannedPush.Destination,
        _ count: Int,
        _ budgetClass: BudgetClass?,
        _ decision: PriorityDecision,
        _ body: [UInt8]
    ) -> PlannedPush {
        let head = RequestHead.devicePush(
            PushHeaders(
                bundleID: activity.bundleID,
                priority: decision.priority,
                expiration: activity.policy.expiration(of: event, at: change.timestamp)
            )
        )
        return planned(event, to: destination, count, budgetClass, decision, head, path: head.path + "{token}", body)
    }

    private func planned(
        _ event: ChangeKind,
        to destination: PlannedPush.Destination,
        _ count: Int,
        _ budgetClass: BudgetClass?,
        _ decision: PriorityDecision,
        _ head: RequestHead,
        path: String,
        _ body: [UInt8]
    ) -> PlannedPush {
        PlannedPush(
            event: event,
            to: destination,
            destinations: count,
            budgetClass: budgetClass?.rawValue,
            priority: decision.priority,
            reason: decision.reason.rawValue,
            explanation: decision.text,
            path: path,
            headers: JSONObject(head.texts.map { ($0.name, .string($0.value)) }),
            bytes: body.count,
            // Our own rendering, which is JSON.
            body: (try? JSONValue.parse(body)) ?? .null
        )
    }
}
