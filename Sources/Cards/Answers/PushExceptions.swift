package import APNSTransport
package import ActivityModel
package import Logging
package import Postgres
import Store
package import Waiting

/// The pushes of a batch that were not accepted, and what becomes of their destinations.
package struct PushExceptions: Sendable {
    /// Who was sent a push, with the facts that matter if the push does not arrive.
    package struct Recipient: Sendable {
        let deviceKey: Int64
        let token: PushToken
        /// Tries in a row that failed before.
        let failures: Int
        /// Kept as the destination's `heard_revision`.
        let heardIfRefused: Revision

        package init(deviceKey: Int64, token: PushToken, failures: Int, heardIfRefused: Revision) {
            self.deviceKey = deviceKey
            self.token = token
            self.failures = failures
            self.heardIfRefused = heardIfRefused
        }
    }

    let activityKey: Int64
    let backoff: Backoff
    /// How many pushes of the batch were accepted.
    private(set) var accepted = 0
    package private(set) var refused: [(recipient: Recipient, outcome: PushOutcome)] = []

    package init(activityKey: Int64, backoff: Backoff) {
        self.activityKey = activityKey
        self.backoff = backoff
    }

    /// Adds the outcome of a part of the batch. `recipient` returns who was sent a push.
    package mutating func add(_ outcome: BatchOutcome, recipient: (Int) -> Recipient?) {
        accepted += outcome.accepted
        for exception in outcome.exceptions {
            guard let recipient = recipient(exception.index) else { continue }
            refused.append((recipient, exception.outcome))
        }
    }

    /// Takes in those of other pushes of the same activity.
    package mutating func add(_ other: PushExceptions) {
        accepted += other.accepted
        refused += other.refused
    }

    /// Whether nobody was reached, whatever the reason.
    package var areAll: Bool { accepted == 0 && refused.count > 1 }

    /// Whether somebody was reached, or may have been: the answer to some push is not known.
    package var mayHaveArrived: Bool {
        accepted > 0 || refused.contains { $0.outcome.class.consequence == .again(mayHaveArrived: true) }
    }

    /// Why no destination was reached, if the tokens are not the reason. Then the whole batch is retried later.
    package var commonFailure: String? {
        guard areAll else { return nil }
        let isAboutTokens = refused.contains { !$0.outcome.class.consequence.isAgain }
        return isAboutTokens ? nil : refused.first?.outcome.words
    }

    /// Logs an answer that every repeat would get, too.
    package func tellRefusal(to logger: Logger) {
        guard let refusal = refused.first(where: { $0.outcome.class.consequence == .refused }) else { return }
        logger.error(
            "APNs refuses a push for good",
            metadata: ["activity.key": "\(activityKey)", "apns.reason": "\(refusal.outcome.words)"]
        )
    }

    /// The destinations of the batch that were sent the push, and those for which APNs would refuse it every time.
    /// Nothing is wrong with the tokens of the latter, and the next change may succeed.
    package func settled(of destinations: [Destination]) -> [Destination] {
        let open = Set(refused.filter { $0.outcome.class.consequence != .refused }.map(\.recipient.deviceKey))
        return open.isEmpty ? destinations : destinations.filter { !open.contains($0.deviceKey) }
    }

    /// The statements that give the refused destinations rows of their own (promise 9: tokens die only for token
    /// reasons).
    ///
    /// Each names the token that was sent to, so a token that was reported meanwhile is not touched. The heard revision
    /// never shrinks: while the push was on its way, the app may have changed, and the new one is owed no earlier
    /// alert.
    package var statements: [Query] {
        var dead: [(Recipient, PushOutcome, Int64?, delay: Duration)] = []
        var rejected: [(Recipient, PushOutcome)] = []
        var again: [(Recipient, PushOutcome, delay: Duration)] = []
        for (recipient, outcome) in refused {
            let delay = backoff.delay(afterFailures: recipient.failures + 1)
            switch outcome.class.consequence {
            case .done, .refused: continue
            case .forget(let milliseconds): dead.append((recipient, outcome, milliseconds, delay))
            case .park: rejected.append((recipient, outcome))
            case .again: again.append((recipient, outcome, delay))
            }
        }
        let places = dead.map(\.0) + rejected.map(\.0) + again.map(\.0)
        var statements = CardKey.hold(places.map { CardKey(activityKey: activityKey, deviceKey: $0.deviceKey) })
        if !dead.isEmpty { statements.append(death(of: dead)) }
        if !rejected.isEmpty { statements.append(rejection(of: rejected)) }
        if !again.isEmpty { statements.append(retry(of: again)) }
        return statements
    }

    private func retry(of again: [(Recipient, PushOutcome, delay: Duration)]) -> Query {
        """
        UPDATE subscriptions AS s
        SET state = 'due', reason = d.reason, due_at = clock_timestamp() + d.delay,
            heard_revision = greatest(s.heard_revision, d.heard), failures = least(s.failures + 1, 1000)
        FROM unnest(
            \(again.map(\.0.deviceKey)), \(again.map(\.0.token.bytes)),
            \(again.map(\.1.words)), \(again.map(\.delay)), \(again.map(\.0.heardIfRefused))
        ) AS d(device_key, token, reason, delay, heard)
        WHERE s.activity_key = \(activityKey) AND s.device_key = d.device_key AND s.update_token = d.token
          AND s.device_key = ANY(\(again.map(\.0.deviceKey)))
          AND s.state IN ('riding', 'due')
        """
    }

    /// Rejected tokens are kept and get no pushes. Stores what the card has heard, in case its token is revived.
    private func rejection(of rejected: [(Recipient, PushOutcome)]) -> Query {
        """
        UPDATE subscriptions AS s
        SET state = 'rejected', reason = d.reason, due_at = NULL,
            heard_revision = greatest(s.heard_revision, d.heard), failures = least(s.failures + 1, 1000)
        FROM unnest(
            \(rejected.map(\.0.deviceKey)), \(rejected.map(\.0.token.bytes)),
            \(rejected.map(\.1.words)), \(rejected.map(\.0.heardIfRefused))
        ) AS d(device_key, token, reason, heard)
        WHERE s.activity_key = \(activityKey) AND s.device_key = d.device_key AND s.update_token = d.token
          AND s.device_key = ANY(\(rejected.map(\.0.deviceKey)))
          AND s.state IN ('riding', 'due')
        """
    }

    /// How often a push is repeated if APNs says that its token died before the app reported it. Then Tally believes
    /// APNs until the next report: a clock may be wrong, or the app may report a token that is gone.
    package static let mostContradictions = 3

    /// The condition that the app has reported a token since APNs knew it as dead, and that this has not happened too
    /// often. Then pushes to it are tried again. The arguments are SQL expressions; `diedAt` is in milliseconds.
    package static func isContradicted(reportedAt: String, contradictions: String, diedAt: String) -> String {
        """
        (coalesce(\(reportedAt) > 'epoch'::timestamptz + \(diedAt) * interval '1 millisecond', false)
         AND \(contradictions) < \(mostContradictions))
        """
    }

    private static let isAlive = isContradicted(
        reportedAt: "s.registered_at",
        contradictions: "s.contradictions",
        diedAt: "d.dead_at"
    )

    /// If the app reported a token after APNs knew it as dead, the token is retried instead. It gets no alert that it
    /// has heard, and not for ever.
    private func death(of dead: [(Recipient, PushOutcome, Int64?, delay: Duration)]) -> Query {
        """
        WITH died AS (
            UPDATE subscriptions AS s
            SET (state, due_at) = (
                    SELECT CASE WHEN alive THEN 'due'::subscription_state ELSE 'dead' END,
                           CASE WHEN alive THEN clock_timestamp() + d.delay END
                    FROM (SELECT \(unescaped: Self.isAlive) AS alive) AS verdict
                ),
                contradictions = least(s.contradictions + 1, 1000),
                reason = d.reason, heard_revision = greatest(s.heard_revision, d.heard),
                failures = least(s.failures + 1, 1000)
            FROM unnest(
                \(dead.map(\.0.deviceKey)), \(dead.map(\.0.token.bytes)), \(dead.map(\.1.words)), \(dead.map(\.2)),
                \(dead.map(\.delay)), \(dead.map(\.0.heardIfRefused))
            ) AS d(device_key, token, reason, dead_at, delay, heard)
            WHERE s.activity_key = \(activityKey) AND s.device_key = d.device_key AND s.update_token = d.token
              AND s.device_key = ANY(\(dead.map(\.0.deviceKey)))
              AND s.state IN ('riding', 'due')
            RETURNING s.activity_key, s.device_key, s.state, s.reason
        )
        \(unescaped: EventRows.tokenDeath(of: .update, from: "died", where: "r.state = 'dead'"))
        """
    }
}
