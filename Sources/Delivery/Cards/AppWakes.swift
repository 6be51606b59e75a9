import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import JSON
import Logging
import Postgres
import Registry
import Store

/// Background pushes that wake the apps of one activity to report the update tokens of their cards (policy
/// `wake_after_seconds`).
///
/// The system may start an app late or not at all to hand it a token (Apple, ActivityKit pushes), and until then nobody
/// can update its card or end it. The cards are claimed by moving their next look on by a lease: if this daemon dies,
/// another wakes the apps, perhaps a second time.
struct AppWakes: Sendable {
    let room: DeliveryRoom
    let addressee: Addressee
    /// The cards of the activity whose apps are to be woken. All have a device token.
    let cards: [WatchedCard]

    /// How long the claim of a card lasts: until its push is answered and the outcome is stored.
    static func lease(_ settings: OrchestratorSettings) -> Duration { settings.pushDeadline + .seconds(5) }

    /// After this a wake-up that did not leave is tried again.
    private static let pause = Duration.seconds(30)
    /// How long APNs keeps one for a phone that is away, in seconds.
    private static let expiration: Int64 = 3600

    /// The activity that one push is sent for, with the type name that the push carries.
    struct Addressee: Hashable, Sendable {
        let activity: ActivityNames
        let typeName: ActivityTypeName

        init(_ card: WatchedCard) {
            activity = ActivityNames(
                key: card.activityKey,
                app: card.app,
                environment: card.environment,
                id: card.activityID
            )
            typeName = card.typeName
        }
    }

    /// Sends one to each of the cards' devices, and records the outcomes. If the database fails, another try follows
    /// when the claim expires.
    func send() async {
        do {
            guard let pass = try await pass() else {
                return try await room.settle([WatchedCard.notWoken(cards, again: Self.pause)])
            }
            let tokens = TokenBuffer(cards.compactMap(\.deviceToken))
            let answers = await room.send(pass, to: .tokens(tokens, devices: cards.map(\.deviceKey)), slot: nil)
            try await room.settle(settlement(answers))
        } catch {
            room.logger.warning(
                "apps are not woken",
                metadata: ["activity.key": "\(addressee.activity.key)", "error": "\(error)"]
            )
        }
    }

    /// - Returns: Nil where nothing may be sent now: sending is halted, or there is no signing key.
    private func pass() async throws -> Pass? {
        let activity = addressee.activity
        let scope = HaltScope(app: activity.app, environment: activity.environment)
        guard let (now, identity) = try await room.mayPush(in: scope, else: "apps are not woken") else { return nil }
        return Pass(
            of: .wake,
            in: activity,
            identity,
            PushHeaders(
                bundleID: activity.app,
                pushType: .background,
                priority: PriorityRule.wake,
                expiration: now + Self.expiration
            ),
            PushPayload(.background, custom: activity.id.mention(of: addressee.typeName)).body,
            detail: try await room.timeline.detail(of: activity.key, count: cards.count)
        )
    }

    /// Retries wake-ups that certainly did not leave. All others count as sent.
    private func settlement(_ answers: BatchOutcome) -> [Query] {
        var failures: [DeviceTokens.Failure] = []
        var unsent: Set<Int> = []
        for exception in answers.exceptions {
            let card = cards[exception.index]
            let consequence = exception.outcome.class.consequence
            if consequence == .again(mayHaveArrived: false) { unsent.insert(exception.index) }
            if let token = card.deviceToken,
                let failure = DeviceTokens.Failure(
                    deviceKey: card.deviceKey,
                    in: card.environment,
                    token: token,
                    consequence
                )
            {
                failures.append(failure)
            }
        }
        let woken = cards.indices.filter { !unsent.contains($0) }.map { cards[$0] }
        return (failures.isEmpty ? [] : [DeviceTokens.failed(failures)])
            + CardKey.hold(cards.map { CardKey(activityKey: $0.activityKey, deviceKey: $0.deviceKey) })
            + (woken.isEmpty ? [] : [WatchedCard.woken(woken)])
            + (unsent.isEmpty ? [] : [WatchedCard.notWoken(unsent.sorted().map { cards[$0] }, again: Self.pause)])
    }
}

extension ActivityID {
    /// How ordinary pushes name an activity to the app, beside `aps`.
    func mention(of type: ActivityTypeName) -> JSONObject {
        let name: JSONObject = ["activity_id": .string(rawValue), "type": .string(type.rawValue)]
        return ["tally": .object(name)]
    }
}

extension DeliveryRoom {
    /// The time by the database's clock and the key for a push to cards of an app. Nil where nothing may be sent now:
    /// sending is halted, or there is no signing key.
    func mayPush(
        in scope: HaltScope,
        else complaint: Logger.Message
    ) async throws -> (now: Int64, identity: SigningIdentity)? {
        guard let now = try await halts.timeUnlessHalted(scope) else { return nil }
        do {
            return (now, try await signing.identity(of: scope.app, scope.environment))
        } catch let error as SigningKeyMissing {
            logger.warning(complaint, metadata: ["error": "\(error)"])
            return nil
        }
    }
}
