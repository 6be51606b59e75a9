import APNSTransport
import ActivityModel
import Postgres

/// A start that this worker may send.
struct ClaimedStart: Sendable {
    let deviceKey: Int64
    /// Tries in a row that certainly started nothing.
    let failures: Int
    /// Tells this claim from a later one of the same start.
    let claimedAt: PGTimestamp
    /// Nil if the device has no live start token of the type any more.
    let token: PushToken?
    let osVersion: OSVersion?
    let activitiesEnabled: Bool
    let frequent: Bool

    /// How this device is started; nil without a token to start it by.
    func capability(for delivery: Delivery) -> DeviceCapability? {
        guard token != nil else { return nil }
        return DeviceCapability(osVersion: osVersion, activitiesEnabled: activitiesEnabled, delivery: delivery)
    }
}

/// What became of a batch of claimed starts.
struct StartResults: Sendable {
    private struct Row {
        let start: ClaimedStart
        let state: String
        /// Whether the claim counts: its push may have left.
        let counts: Bool
        /// How long to wait where it is tried again.
        let delay: Duration
        let reason: String?
        /// It failed for its token's sake: with another one it is tried again.
        var isTokenFailure = false
    }

    let backoff: Backoff
    private var rows: [Row] = []
    private var started: [(ClaimedStart, mode: String)] = []
    private var deadTokens: [(ClaimedStart, state: String, deadAt: Int64?)] = []
    /// Why no push of this app leaves at all, in APNs' words.
    private(set) var credentialFailure: String?

    init(backoff: Backoff) {
        self.backoff = backoff
    }

    mutating func withhold(_ starts: [ClaimedStart], reason: String) {
        for start in starts { add(start, "withheld", counts: false, reason) }
    }

    /// Takes the answer to a start; nil for one that APNs accepted.
    mutating func answer(_ start: ClaimedStart, _ inputPush: LiveActivityBody.InputPush, _ outcome: PushOutcome?) {
        let words = outcome?.words
        switch outcome?.class {
        case nil, .accepted:
            add(start, "sent", counts: true, nil)
            switch inputPush {
            case .channel: started.append((start, "channel"))
            case .token, .none: started.append((start, "token"))
            }
        case .unknown:
            add(start, "unknown", counts: true, words)
        case .tokenDead(let milliseconds):
            add(start, "failed", counts: false, words, isTokenFailure: true)
            deadTokens.append((start, "dead", milliseconds))
        case .tokenRejected:
            add(start, "failed", counts: false, words, isTokenFailure: true)
            deadTokens.append((start, "rejected", nil))
        case .requestInvalid, .channelGone:
            add(start, "failed", counts: false, words)
        case .credential:
            credentialFailure = words
            add(start, "pending", counts: false, words)
        case .retry, .notSent:
            add(start, "pending", counts: false, words)
        }
    }

    private mutating func add(
        _ start: ClaimedStart,
        _ state: String,
        counts: Bool,
        _ reason: String?,
        isTokenFailure: Bool = false
    ) {
        let delay = backoff.delay(afterFailures: start.failures + 1, jitter: .random(in: 0...1))
        rows.append(
            Row(
                start: start,
                state: state,
                counts: counts,
                delay: delay,
                reason: reason,
                isTokenFailure: isTokenFailure
            )
        )
    }

    /// The statements that record it, as one transaction. A start that the phone has reported meanwhile stays settled.
    func statements(for activity: ActivitySnapshot) -> [Query] {
        var statements: [Query] = []
        if !deadTokens.isEmpty { statements.append(tokenDeaths(activity)) }
        statements.append(outcomes(activity))
        if !started.isEmpty {
            statements.append(subscriptions(activity))
            if started.contains(where: { $0.mode == "channel" }) {
                statements.append(SegmentStore.announce(activityKeys: [activity.key]))
            }
        }
        return statements
    }

    /// A start that came to nothing is tried again if its device has registered meanwhile, and one that failed for its
    /// token's sake also if there is a live one all the same: reported after Apple knew the other as dead.
    private func outcomes(_ activity: ActivitySnapshot) -> Query {
        let rows = rows.sorted { $0.start.deviceKey < $1.start.deviceKey }
        return """
            UPDATE starts AS s
            SET reason = r.reason,
                attempts = CASE WHEN r.counts THEN s.attempts ELSE greatest(s.attempts - 1, 0) END,
                (state, failures, due_at) = (
                    SELECT v.state,
                           CASE v.state WHEN 'pending' THEN least(s.failures + 1, 1000) ELSE 0 END,
                           CASE v.state WHEN 'pending' THEN clock_timestamp() + r.delay WHEN 'unknown' THEN s.due_at END
                    FROM (
                        SELECT CASE WHEN r.state IN ('withheld', 'failed') AND (s.renewed OR device.has_live_token)
                            THEN 'pending' ELSE r.state::start_state END AS state
                    ) AS v
                )
            FROM unnest(
                \(rows.map(\.start.deviceKey)), \(rows.map(\.start.claimedAt)), \(rows.map(\.state)),
                \(rows.map(\.counts)), \(rows.map(\.delay)), \(rows.map(\.reason)), \(rows.map(\.isTokenFailure))
            ) AS r(device_key, claimed_at, state, counts, delay, reason, is_token_failure)
            CROSS JOIN LATERAL (
                SELECT r.is_token_failure AND EXISTS (
                    SELECT FROM start_tokens AS t
                    WHERE t.device_key = r.device_key AND t.type_name = \(activity.typeName.rawValue) AND t.state = 'live'
                ) AS has_live_token
            ) AS device
            WHERE s.activity_key = \(activity.key) AND s.device_key = r.device_key AND s.state = 'claimed'
              AND s.claimed_at = r.claimed_at
            """
    }

    /// A phone on the channel whose start was on its way while something newer was broadcast may have missed that.
    private func subscriptions(_ activity: ActivitySnapshot) -> Query {
        let started = started.sorted { $0.0.deviceKey < $1.0.deviceKey }
        return """
            INSERT INTO subscriptions (activity_key, device_key, mode, state, frequent, known_revision, due_at)
            SELECT a.activity_key, r.device_key, r.mode::subscription_mode, v.state, r.frequent, \(activity.newest),
                   CASE v.state WHEN 'due' THEN clock_timestamp() END
            FROM unnest(
                \(started.map(\.0.deviceKey)), \(started.map(\.mode)), \(started.map(\.0.frequent))
            ) AS r(device_key, mode, frequent)
            JOIN activities AS a ON a.activity_key = \(activity.key)
            CROSS JOIN LATERAL (
                SELECT CASE WHEN r.mode = 'token' THEN 'waiting_for_token'::subscription_state
                    WHEN a.revision > \(activity.newest) THEN 'due' ELSE 'riding' END AS state
            ) AS v
            ON CONFLICT (activity_key, device_key) DO NOTHING
            """
    }

    private func tokenDeaths(_ activity: ActivitySnapshot) -> Query {
        let dead = deadTokens.sorted { $0.0.deviceKey < $1.0.deviceKey }
        return """
            UPDATE start_tokens AS t SET state = r.state::token_state
            FROM unnest(
                \(dead.map(\.0.deviceKey)), \(dead.map { $0.0.token?.bytes }), \(dead.map(\.state)), \(dead.map(\.deadAt))
            ) AS r(device_key, token, state, dead_at)
            WHERE t.device_key = r.device_key AND t.type_name = \(activity.typeName.rawValue) AND t.token = r.token
              AND (r.dead_at IS NULL
                   OR t.registered_at <= 'epoch'::timestamptz + r.dead_at * interval '1 millisecond')
            """
    }
}
