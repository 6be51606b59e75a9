import APNSTransport
import ActivityModel
import Postgres

/// A start that this worker may send.
struct ClaimedStart: Sendable {
    let deviceKey: Int64
    /// Tries in a row that certainly started nothing.
    let failures: Int
    /// Nil if the device has no live start token of the type any more.
    let token: PushToken?
    let osVersion: OSVersion?
    let activitiesEnabled: Bool
    let frequent: Bool

    /// How this device is started; nil without a token to start it by.
    func capability(for delivery: Delivery) -> DeviceCapability? {
        guard self.token != nil else { return nil }
        return DeviceCapability(
            osVersion: self.osVersion,
            activitiesEnabled: self.activitiesEnabled,
            delivery: delivery
        )
    }
}

/// What became of a batch of claimed starts.
struct StartResults: Sendable {
    private struct Row {
        let start: ClaimedStart
        let state: String
        /// Whether the claim counts: its push may have left.
        let counts: Bool
        let delay: Duration?
        let reason: String?
    }

    let backoff: Backoff
    private var rows: [Row] = []
    private var started: [(ClaimedStart, mode: String, state: String)] = []
    private var deadTokens: [(ClaimedStart, state: String, deadAt: Int64?)] = []
    /// Why no push of this app leaves at all, in APNs' words.
    private(set) var credentialFailure: String?

    init(backoff: Backoff) {
        self.backoff = backoff
    }

    mutating func withhold(_ starts: [ClaimedStart], reason: String) {
        self.rows += starts.map { Row(start: $0, state: "withheld", counts: false, delay: nil, reason: reason) }
    }

    /// - Parameters:
    ///   - outcome: Nil for a push that APNs accepted.
    mutating func answer(_ start: ClaimedStart, _ inputPush: LiveActivityBody.InputPush, _ outcome: PushOutcome?) {
        switch outcome?.class {
        case nil, .accepted:
            self.rows.append(Row(start: start, state: "sent", counts: true, delay: nil, reason: nil))
            switch inputPush {
            case .channel: self.started.append((start, "channel", "riding"))
            case .token, .none: self.started.append((start, "token", "waiting_for_token"))
            }
        case .unknown:
            self.rows.append(Row(start: start, state: "unknown", counts: true, delay: nil, reason: outcome?.words))
        case .tokenDead(let milliseconds):
            self.rows.append(Row(start: start, state: "failed", counts: false, delay: nil, reason: outcome?.words))
            self.deadTokens.append((start, "dead", milliseconds))
        case .tokenRejected:
            self.rows.append(Row(start: start, state: "failed", counts: false, delay: nil, reason: outcome?.words))
            self.deadTokens.append((start, "rejected", nil))
        case .requestInvalid, .channelGone:
            self.rows.append(Row(start: start, state: "failed", counts: false, delay: nil, reason: outcome?.words))
        case .credential:
            self.credentialFailure = outcome?.words
            self.again(start, outcome)
        case .retry, .notSent:
            self.again(start, outcome)
        }
    }

    private mutating func again(_ start: ClaimedStart, _ outcome: PushOutcome?) {
        let delay = self.backoff.delay(afterFailures: start.failures + 1, jitter: .random(in: 0...1))
        self.rows.append(
            Row(start: start, state: "pending", counts: false, delay: delay, reason: outcome?.words)
        )
    }

    /// The statements that record it. A start that the phone has reported meanwhile stays settled.
    func statements(for activity: ActivitySnapshot) -> [Query] {
        var statements: [Query] = [
            """
            UPDATE starts AS s
            SET state = r.state::start_state, reason = r.reason,
                attempts = CASE WHEN r.counts THEN s.attempts ELSE greatest(s.attempts - 1, 0) END,
                failures = CASE r.state WHEN 'pending' THEN least(s.failures + 1, 1000) ELSE 0 END,
                due_at = CASE r.state
                    WHEN 'pending' THEN clock_timestamp() + r.delay
                    WHEN 'unknown' THEN s.due_at END
            FROM unnest(
                \(self.rows.map(\.start.deviceKey)), \(self.rows.map(\.state)), \(self.rows.map(\.counts)),
                \(self.rows.map(\.delay)), \(self.rows.map(\.reason))
            ) AS r(device_key, state, counts, delay, reason)
            WHERE s.activity_key = \(activity.key) AND s.device_key = r.device_key AND s.state = 'claimed'
            """
        ]
        if !self.started.isEmpty {
            statements.append(
                """
                INSERT INTO subscriptions (activity_key, device_key, mode, state, frequent, known_revision)
                SELECT \(activity.key), r.device_key, r.mode::subscription_mode, r.state::subscription_state, r.frequent,
                       \(activity.newest)
                FROM unnest(
                    \(self.started.map(\.0.deviceKey)), \(self.started.map(\.mode)), \(self.started.map(\.state)),
                    \(self.started.map(\.0.frequent))
                ) AS r(device_key, mode, state, frequent)
                ON CONFLICT (activity_key, device_key) DO NOTHING
                """
            )
        }
        if !self.deadTokens.isEmpty {
            statements.append(
                """
                UPDATE start_tokens AS t SET state = r.state::token_state
                FROM unnest(
                    \(self.deadTokens.map(\.0.deviceKey)), \(self.deadTokens.map { $0.0.token?.bytes }),
                    \(self.deadTokens.map(\.state)), \(self.deadTokens.map(\.deadAt))
                ) AS r(device_key, token, state, dead_at)
                WHERE t.device_key = r.device_key AND t.type_name = \(activity.typeName.rawValue) AND t.token = r.token
                  AND (r.dead_at IS NULL
                       OR t.registered_at <= 'epoch'::timestamptz + r.dead_at * interval '1 millisecond')
                """
            )
        }
        return statements
    }
}
