import APNSTransport
import ActivityModel
import DeliveryStore
import Postgres
import Store
import Waiting

/// The outcomes of a batch of claimed starts.
struct StartResults: Sendable {
    private struct Answered {
        let start: ClaimedStart
        let answer: StartStateMachine.Answer
        /// Whether an alert stood in.
        let isAlert: Bool

        var dependsOnDevice: Bool { answer.dependsOnDevice(isAlert: isAlert) }
    }

    /// What a device has reported since its start was claimed.
    private struct DeviceFacts {
        let isRenewed: Bool
        let hasLiveToken: Bool
    }

    /// A start that APNs accepted, and the mode of the card that it makes.
    private typealias Started = (ClaimedStart, mode: String)

    let backoff: Backoff
    private var answers: [Answered] = []
    private var started: [Started] = []
    private var deadTokens: [(ClaimedStart, state: String, deadAt: Int64?, words: String)] = []
    private var deadDeviceTokens: [DeviceTokens.Death] = []
    /// Why no push of this app leaves at all, in APNs' words.
    private(set) var credentialFailure: String?

    init(backoff: Backoff) {
        self.backoff = backoff
    }

    /// Takes the answer to a start; nil for one that APNs accepted.
    mutating func answer(_ start: ClaimedStart, _ inputPush: LiveActivityBody.InputPush, _ outcome: PushOutcome?) {
        let answer = meaning(of: outcome)
        answers.append(Answered(start: start, answer: answer, isAlert: false))
        if answer == .accepted {
            switch inputPush {
            case .channel: started.append((start, "channel"))
            case .token, .none: started.append((start, "token"))
            }
        }
        guard let outcome else { return }
        switch outcome.class.consequence {
        case .forget(let milliseconds): deadTokens.append((start, "dead", milliseconds, outcome.words))
        case .park: deadTokens.append((start, "rejected", nil, outcome.words))
        case .done, .refused, .again: break
        }
    }

    /// Takes the answer to an alert that stood in for a start.
    mutating func answerAlert(_ start: ClaimedStart, _ outcome: PushOutcome?) {
        answers.append(Answered(start: start, answer: meaning(of: outcome), isAlert: true))
        if case .forget(let milliseconds)? = outcome?.class.consequence, let token = start.deviceToken {
            deadDeviceTokens.append(DeviceTokens.Death(deviceKey: start.deviceKey, token: token, at: milliseconds))
        }
    }

    mutating func meaning(of outcome: PushOutcome?) -> StartStateMachine.Answer {
        guard let outcome else { return .accepted }
        if outcome.class == .credential { credentialFailure = outcome.words }
        switch outcome.class.consequence {
        case .done: return .accepted
        case .refused: return .refused(outcome.words)
        case .forget, .park: return .tokenFailed(outcome.words)
        case .again(mayHaveArrived: true): return .unknown(outcome.words)
        case .again(mayHaveArrived: false): return .notSent(outcome.words)
        }
    }

    /// Records it. A start that was settled meanwhile stays so, and one that was claimed again belongs to that claim. A
    /// device that was deleted meanwhile has nothing left to record.
    ///
    /// `isRepeat`: it may be recorded already, as nobody has heard what became of a COMMIT. Then no start is claimed
    /// any more.
    func store(for activity: ActivitySnapshot, isRepeat: Bool, on connection: PostgresConnection) async throws {
        // They stay until this is committed. Locked first, as reports and deletions do: nobody waits in another's way. While
        // cards are handed over, reports of their devices wait: one that does not see it would take the row of the new card
        // for that of the old one.
        let isHandOver = self.started.contains(where: Self.handsOver)
        let devices: Query = """
            SELECT device_key FROM devices WHERE device_key = ANY(\(deviceKeys)) ORDER BY device_key
            FOR \(unescaped: isHandOver ? "NO KEY UPDATE" : "KEY SHARE")
            """
        if isRepeat, try await connection.pipeline([.planningOnce, devices, look(answers, activity)])[2].isEmpty {
            return
        }
        let unclear = answers.filter(\.dependsOnDevice)
        var first: [Query] = [.planningOnce, devices]
        if !deadDeviceTokens.isEmpty { first.append(DeviceTokens.forget(deadDeviceTokens)) }
        // Judged before the look: whether a start is tried again depends on the tokens that are left.
        if !deadTokens.isEmpty { first.append(tokenDeaths(activity)) }
        // All of them, so that starts are locked in the order of their keys, as everybody locks them.
        if !unclear.isEmpty { first.append(look(answers, activity)) }
        let results = try await connection.pipeline(first)
        let present = Set(try results[1].decoded(as: Int64.self))
        var facts: [Int64: DeviceFacts] = [:]
        if !unclear.isEmpty {
            for (key, isRenewed, hasLiveToken) in try results[results.count - 1].decoded(as: (Int64, Bool, Bool).self) {
                facts[key] = DeviceFacts(isRenewed: isRenewed, hasLiveToken: hasLiveToken)
            }
        }
        var statements = [outcomes(activity, facts)]
        let started = started.filter { present.contains($0.0.deviceKey) }
        if !started.isEmpty {
            let continued = started.filter(Self.handsOver).map {
                CardKey(activityKey: activity.key, deviceKey: $0.0.deviceKey)
            }
            if !continued.isEmpty {
                statements += CardKey.hold(continued)
                statements.append(Continuations.handOver(continued, to: continued.map { _ in nil }))
            }
            statements.append(subscriptions(started, activity))
            if activity.policy.onUnfollow == .end { statements.append(cancellation(started, activity)) }
            if started.contains(where: { $0.mode == "channel" }) {
                statements.append(SegmentRows.announce(activityKeys: [activity.key]))
            }
        }
        _ = try await connection.commit(statements)
    }

    /// Whether the new card takes the row of the card that it continues now. One with a token takes it when it is reported. A
    /// card on the channel need not be reported.
    private static func handsOver(_ started: Started) -> Bool { started.0.isContinuation && started.mode == "channel" }

    private var deviceKeys: [Int64] { answers.map(\.start.deviceKey) }

    /// The condition that the start `s` is still claimed as it was when the push of the answer `r` left.
    private static let isOpen = "s.claimed_at = r.claimed_at AND s.state = 'claimed'"

    /// The statement that locks the starts of answers if they are open, and reads what their devices have reported.
    private func look(_ answers: [Answered], _ activity: ActivitySnapshot) -> Query {
        """
        SELECT s.device_key, s.renewed, EXISTS (
            SELECT FROM start_tokens AS t
            WHERE t.device_key = s.device_key AND t.type_name = \(activity.typeName.rawValue) AND t.state = 'live' OFFSET 0)
        FROM unnest(
            \(answers.map { _ in activity.key }), \(answers.map(\.start.deviceKey)), \(answers.map(\.start.claimedAt))
        ) AS r(activity_key, device_key, claimed_at)
        JOIN starts AS s ON \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
        WHERE \(unescaped: Self.isOpen)
        ORDER BY s.device_key FOR NO KEY UPDATE OF s
        """
    }

    /// A start as its answer leaves it.
    private struct Outcome {
        let start: ClaimedStart
        let machine: StartStateMachine
        let keepsDueAt: Bool
        let delay: Duration?
    }

    /// The statement that stores the answers of starts that are open, in the order of their keys. A start is left out if
    /// its outcome depends on its device, and it was not open when that was read.
    private func outcomes(_ activity: ActivitySnapshot, _ facts: [Int64: DeviceFacts]) -> Query {
        var outcomes: [Outcome] = []
        for answered in answers.sorted(by: { $0.start.deviceKey < $1.start.deviceKey }) {
            let device = facts[answered.start.deviceKey]
            if device == nil, answered.dependsOnDevice { continue }
            let isRenewed = device?.isRenewed ?? false
            let hasLiveToken = device?.hasLiveToken ?? false
            var machine = answered.start.machine
            let again =
                answered.isAlert
                ? machine.alertAnswered(answered.answer, isRenewed: isRenewed)
                : machine.answered(answered.answer, isRenewed: isRenewed, hasLiveToken: hasLiveToken)
            let delay = backoff.delay(afterFailures: machine.failures)
            outcomes.append(
                Outcome(
                    start: answered.start,
                    machine: machine,
                    keepsDueAt: again == .asClaimed,
                    delay: again == .afterBackOff ? delay : nil
                )
            )
        }
        return """
            UPDATE starts AS s
            SET state = r.state::start_state, attempts = r.attempts, failures = r.failures, fell_back = r.fell_back,
                reason = r.reason,
                due_at = CASE WHEN r.keeps_due_at THEN s.due_at ELSE clock_timestamp() + r.delay END
            FROM unnest(
                \(outcomes.map { _ in activity.key }), \(outcomes.map(\.start.deviceKey)),
                \(outcomes.map(\.start.claimedAt)), \(outcomes.map(\.machine.state.rawValue)),
                \(outcomes.map { Int16($0.machine.attempts) }), \(outcomes.map { Int16($0.machine.failures) }),
                \(outcomes.map(\.machine.hasFallenBack)), \(outcomes.map(\.machine.reason)),
                \(outcomes.map(\.keepsDueAt)), \(outcomes.map(\.delay))
            ) AS r(activity_key, device_key, claimed_at, state, attempts, failures, fell_back, reason, keeps_due_at, delay)
            WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key")) AND \(unescaped: Self.isOpen)
            """
    }

    /// SQL of whether a card is to end as soon as it reports its token: its device left the audience by its topics while
    /// the start was on its way. Then there was no card yet that the change of topics could end. The starts are locked
    /// here and there, so one of the two sees the other.
    private func isLeaving(_ activity: ActivitySnapshot) -> String {
        guard activity.policy.onUnfollow == .end else { return "false" }
        return """
            r.mode = 'token' AND EXISTS (
                SELECT FROM audience_topics AS m WHERE m.activity_key = a.activity_key OFFSET 0
            ) AND NOT coalesce((
                SELECT \(AudienceCoverage.condition) FROM devices AS d WHERE d.device_key = r.device_key OFFSET 0
            ), true)
            """
    }

    /// The statement that cancels the starts of cards which end as soon as they report their tokens. A change of topics
    /// does the same when it finds a card. So a device that follows again gets a new card. If the backend has ended the
    /// card that such a card continues, the start is settled already.
    private func cancellation(_ started: [Started], _ activity: ActivitySnapshot) -> Query {
        """
        UPDATE starts AS s SET state = 'cancelled', revision = NULL
        WHERE EXISTS (SELECT FROM audience_topics AS m WHERE m.activity_key = \(activity.key) OFFSET 0)
          AND s.activity_key = \(activity.key)
          AND s.device_key = ANY(\(started.map(\.0.deviceKey))) AND s.state = 'sent' AND EXISTS (
              SELECT FROM subscriptions AS c
              WHERE c.activity_key = s.activity_key AND c.device_key = s.device_key
                AND c.leaving AND c.state = 'waiting_for_token' OFFSET 0)
        """
    }

    /// A phone on the channel whose start was on its way while something newer was broadcast may have missed that.
    ///
    /// A card that this start continues keeps its row until the phone reports the new one (``Continuations``).
    ///
    /// Cards that were reported before this are left out if their devices had left the audience by their topics. They
    /// may be ended and forgotten already.
    private func subscriptions(_ started: [Started], _ activity: ActivitySnapshot) -> Query {
        let started = started.sorted { $0.0.deviceKey < $1.0.deviceKey }
        let checks = started.map { start, mode in
            CardWatch(isWaiting: mode == "token").nextAge(after: 0, activity.policy).map(Duration.microseconds)
        }
        return """
            INSERT INTO subscriptions (activity_key, device_key, mode, state, frequent, known_revision, due_at, started_at,
                check_at, leaving)
            SELECT a.activity_key, r.device_key, r.mode::subscription_mode, v.state, r.frequent, \(activity.newest),
                   CASE v.state WHEN 'due' THEN clock_timestamp() END, r.claimed_at, r.claimed_at + r.check_after,
                   \(unescaped: isLeaving(activity))
            FROM unnest(
                \(started.map(\.0.deviceKey)), \(started.map(\.mode)), \(started.map(\.0.frequent)),
                \(started.map(\.0.claimedAt)), \(checks)
            ) AS r(device_key, mode, frequent, claimed_at, check_after)
            JOIN activities AS a ON a.activity_key = \(activity.key)
            CROSS JOIN LATERAL (
                SELECT CASE WHEN r.mode = 'token' THEN 'waiting_for_token'::subscription_state
                    WHEN a.revision > \(activity.newest) THEN 'due' ELSE 'riding' END AS state
            ) AS v
            WHERE NOT (
                \(activity.policy.onUnfollow == .end)
                AND EXISTS (SELECT FROM audience_topics AS m WHERE m.activity_key = \(activity.key) OFFSET 0)
                AND EXISTS (
                    SELECT FROM starts AS o
                    WHERE o.activity_key = a.activity_key AND o.device_key = r.device_key AND o.state = 'cancelled'
                    OFFSET 0)
            )
            ON CONFLICT (activity_key, device_key) DO NOTHING
            """
    }

    /// The condition that the token `t` was reported after the death `r`. Then it is tried again, as
    /// ``PushExceptions`` does with update tokens.
    private static let isContradicted = """
        (coalesce(t.registered_at > 'epoch'::timestamptz + r.dead_at * interval '1 millisecond', false)
         AND t.contradictions < \(PushExceptions.mostContradictions))
        """

    private func tokenDeaths(_ activity: ActivitySnapshot) -> Query {
        let dead = deadTokens.sorted { $0.0.deviceKey < $1.0.deviceKey }
        return """
            WITH died AS (
                UPDATE start_tokens AS t
                SET state = CASE WHEN \(unescaped: Self.isContradicted) THEN t.state ELSE r.state::token_state END,
                    contradictions = t.contradictions + CASE WHEN \(unescaped: Self.isContradicted) THEN 1 ELSE 0 END
                FROM unnest(
                    \(dead.map(\.0.deviceKey)), \(dead.map { $0.0.token?.bytes }), \(dead.map(\.state)),
                    \(dead.map(\.deadAt)), \(dead.map(\.words))
                ) AS r(device_key, token, state, dead_at, reason)
                WHERE \(unescaped: Query.byKey("t", "r", "device_key"))
                  AND t.type_name = \(activity.typeName.rawValue) AND t.token = r.token
                RETURNING \(activity.key) AS activity_key, t.device_key, t.state, r.reason
            )
            \(unescaped: EventRows.tokenDeath(of: .start, from: "died", where: "r.state = 'dead'"))
            """
    }
}
