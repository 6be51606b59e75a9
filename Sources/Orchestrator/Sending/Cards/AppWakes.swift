import APNSTransport
import ActivityModel
import JSON
import Logging
import Postgres

/// Background pushes that wake apps to report the update tokens of their cards (policy `wake_after_seconds`).
///
/// The system may start an app late or not at all to hand it a token (Apple, ActivityKit pushes), and until then nobody
/// can update its card or end it.
struct AppWakes: Sendable {
    let orchestrator: Orchestrator

    /// After this a wake-up that did not leave is tried again.
    private static let pause = Duration.seconds(30)
    /// How long APNs keeps one for a phone that is away, in seconds.
    private static let expiration: Int64 = 3600

    private struct Group: Hashable {
        let activityKey: Int64
        let app: BundleID
        let environment: APNSEnvironment
        let activityID: ActivityID
        let typeName: ActivityTypeName
    }

    /// Sends one to each of the cards' devices, which have a token; they are stored as woken already.
    func send(to cards: [WatchedCard]) async throws {
        let groups = Dictionary(grouping: cards) { card in
            Group(
                activityKey: card.activityKey,
                app: card.app,
                environment: card.environment,
                activityID: card.activityID,
                typeName: card.typeName
            )
        }
        for (group, members) in groups {
            do {
                try await send(group, members)
            } catch let error as SigningKeyMissing {
                orchestrator.logger.warning("apps are not woken", metadata: ["error": "\(error)"])
                try await again(members)
            }
        }
    }

    private func send(_ group: Group, _ members: [WatchedCard]) async throws {
        let payload = try PushPayload.background(custom: group.activityID.mention(of: group.typeName))
        let rows = try await orchestrator.database.query(
            """
            SELECT extract(epoch FROM clock_timestamp())::int8, EXISTS (
                SELECT FROM sending_halts
                WHERE bundle_id = \(group.app.rawValue) AND environment = \(group.environment.rawValue)::apns_environment)
            """
        )
        guard let (now, isHalted) = try rows.first(as: (Int64, Bool).self), !isHalted else {
            try await again(members)
            return
        }
        let detail = try await orchestrator.timeline.detail(of: group.activityKey, count: members.count)
        let batch = PushBatch(
            environment: group.environment,
            identity: try await orchestrator.signing.identity(of: group.app, group.environment),
            headers: PushHeaders(
                bundleID: group.app,
                pushType: .background,
                priority: .five,
                expiration: now + Self.expiration
            ),
            body: payload.body,
            tokens: TokenBuffer(members.compactMap(\.deviceToken)),
            deadline: orchestrator.settings.pushDeadline,
            wantsReceipts: detail.wantsReceipts
        )
        let answers = await orchestrator.send(batch, to: members.map(\.deviceKey))
        orchestrator.timeline.record(
            TimelineSending(
                activityKey: group.activityKey,
                segment: nil,
                event: .wake,
                revision: nil,
                priority: .five,
                detail: detail
            ),
            to: members.map(\.deviceKey),
            answers
        )
        var deaths: [DeviceTokens.Death] = []
        var unsent: [WatchedCard] = []
        for exception in answers.exceptions {
            let card = members[exception.index]
            switch exception.outcome.class {
            case .accepted, .unknown, .tokenRejected, .requestInvalid, .channelGone: continue
            case .tokenDead(let milliseconds):
                guard let token = card.deviceToken else { continue }
                deaths.append(DeviceTokens.Death(deviceKey: card.deviceKey, token: token, at: milliseconds))
            case .retry, .credential, .notSent: unsent.append(card)
            }
        }
        if !deaths.isEmpty { _ = try await orchestrator.database.execute(DeviceTokens.forget(deaths)) }
        if !unsent.isEmpty { try await again(unsent) }
    }

    private func again(_ cards: [WatchedCard]) async throws {
        _ = try await orchestrator.database.execute(
            """
            UPDATE subscriptions AS s
            SET woken = false, check_at = least(s.check_at, clock_timestamp() + \(Self.pause))
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
            WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key AND s.state = 'waiting_for_token'
            """
        )
    }
}

extension ActivityID {
    /// What ordinary pushes say to the app of an activity, beside `aps`.
    func mention(of type: ActivityTypeName) -> JSONObject {
        let name: JSONObject = ["activity_id": .string(rawValue), "type": .string(type.rawValue)]
        return ["tally": .object(name)]
    }
}
