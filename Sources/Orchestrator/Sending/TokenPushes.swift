import APNSTransport
import ActivityModel
import Postgres

/// Sends one change to update tokens: one body per alert, one set of headers per priority.
struct TokenPushes: Sendable {
    let orchestrator: Orchestrator
    let activity: ActivitySnapshot

    /// What became of the pushes.
    struct Outcome: Sendable {
        /// Those that APNs accepted.
        var accepted: [Destination] = []
        /// Those that it did not, each with its answer.
        var refused: [(destination: Destination, outcome: PushOutcome)] = []
        var activityKey: Int64
        var backoff: Backoff
    }

    private struct Group: Hashable {
        let alert: AlertContent?
        let priority: PushPriority
    }

    func send(_ change: ChangeToSend, to destinations: [(Destination, AlertContent?)]) async throws -> Outcome {
        var outcome = Outcome(
            activityKey: self.activity.key,
            backoff: Backoff(cap: self.orchestrator.settings.retryCap)
        )
        guard !destinations.isEmpty else { return outcome }
        let identity = try await self.orchestrator.signing.identity(of: self.activity.bundleID, self.activity.environment)
        for (group, members) in try await self.groups(of: change, destinations) {
            let body = LiveActivityRendering(change: change, alert: group.alert, activity: self.activity).body()
            let batch = PushBatch(
                environment: self.activity.environment,
                identity: identity,
                headers: PushHeaders(
                    topic: self.activity.bundleID.liveActivityTopic,
                    pushType: "liveactivity",
                    priority: group.priority,
                    expiration: self.activity.policy.expiration(of: change.kind, at: change.timestamp)
                ),
                body: body,
                tokens: TokenBuffer(members.map(\.token)),
                deadline: self.orchestrator.settings.pushDeadline
            )
            let answer = await self.orchestrator.sender.send(batch)
            let failed = Set(answer.exceptions.map(\.index))
            for (index, member) in members.enumerated() where !failed.contains(index) {
                outcome.accepted.append(member)
            }
            outcome.refused += answer.exceptions.map { (members[$0.index], $0.outcome) }
        }
        return outcome
    }

    private func groups(
        of change: ChangeToSend,
        _ destinations: [(Destination, AlertContent?)]
    ) async throws -> [Group: [Destination]] {
        var groups: [Group: [Destination]] = [:]
        var priorities: [BudgetClass: [Bool: PushPriority]] = [:]
        for (destination, alert) in destinations {
            let budgetClass: BudgetClass = destination.frequent ? .frequent : .ordinary
            let hasAlert = alert != nil
            let priority: PushPriority
            if let decided = priorities[budgetClass]?[hasAlert] {
                priority = decided
            } else {
                priority = try await self.orchestrator.ledger
                    .priority(of: change, hasAlert: hasAlert, in: self.activity, for: budgetClass)
                priorities[budgetClass, default: [:]][hasAlert] = priority
            }
            groups[Group(alert: alert, priority: priority), default: []].append(destination)
        }
        return groups
    }
}

extension TokenPushes.Outcome {
    /// Why nobody at all was reached, where it is not about the tokens: the whole batch is then tried again later.
    var commonFailure: String? {
        guard self.accepted.isEmpty, self.refused.count > 1 else { return nil }
        let isAboutTokens = self.refused.contains { refused in
            switch refused.outcome.class {
            case .tokenDead, .tokenRejected, .requestInvalid, .accepted, .channelGone: true
            case .retry, .credential, .unknown, .notSent: false
            }
        }
        return isAboutTokens ? nil : self.refused.first?.outcome.reason ?? "no answer"
    }

    /// The statements that give the refused destinations rows of their own (promise 9: tokens die only for token reasons).
    ///
    /// Each names the token that was sent to, so a token that was reported meanwhile is not touched.
    var exceptionStatements: [Query] {
        var dead: [(Destination, PushOutcome, Int64?)] = []
        var set: [(Destination, PushOutcome, state: String, delay: Duration?)] = []
        for (destination, outcome) in self.refused {
            switch outcome.class {
            case .accepted:
                continue
            case .tokenDead(let milliseconds):
                dead.append((destination, outcome, milliseconds))
            case .tokenRejected:
                set.append((destination, outcome, "rejected", nil))
            case .requestInvalid, .channelGone:
                set.append((destination, outcome, "withheld", nil))
            case .retry, .credential, .unknown, .notSent:
                let delay = self.backoff.delay(afterFailures: destination.failures + 1, jitter: .random(in: 0...1))
                set.append((destination, outcome, "due", delay))
            }
        }
        var statements: [Query] = []
        if !dead.isEmpty {
            statements.append(self.death(of: dead))
        }
        if !set.isEmpty {
            statements.append(
                """
                UPDATE subscriptions AS s
                SET state = d.state::subscription_state, reason = d.reason,
                    due_at = clock_timestamp() + d.delay, failures = least(s.failures + 1, 1000)
                FROM unnest(
                    \(set.map(\.0.deviceKey)), \(set.map(\.0.token.bytes)), \(set.map(\.state)), \(set.map(\.1.words)),
                    \(set.map(\.delay))
                ) AS d(device_key, token, state, reason, delay)
                WHERE s.activity_key = \(self.activityKey) AND s.device_key = d.device_key AND s.update_token = d.token
                """
            )
        }
        return statements
    }

    /// A token that the app reported after the moment at which APNs knew it as dead is tried again instead.
    private func death(of dead: [(Destination, PushOutcome, Int64?)]) -> Query {
        """
        UPDATE subscriptions AS s
        SET (state, due_at) = (
                SELECT CASE WHEN alive THEN 'due'::subscription_state ELSE 'dead' END,
                       CASE WHEN alive THEN clock_timestamp() + interval '1 second' END
                FROM (SELECT coalesce(s.registered_at > 'epoch'::timestamptz + d.dead_at * interval '1 millisecond', false)
                      AS alive) AS verdict
            ),
            reason = d.reason, failures = least(s.failures + 1, 1000)
        FROM unnest(
            \(dead.map(\.0.deviceKey)), \(dead.map(\.0.token.bytes)), \(dead.map(\.1.words)), \(dead.map(\.2))
        ) AS d(device_key, token, reason, dead_at)
        WHERE s.activity_key = \(self.activityKey) AND s.device_key = d.device_key AND s.update_token = d.token
        """
    }
}

extension PushOutcome {
    /// The answer in words that are safe to keep and to log.
    var words: String {
        switch (self.status, self.reason) {
        case (let status?, let reason?): "\(status) \(reason)"
        case (let status?, nil): "\(status)"
        case (nil, let reason?): reason
        case (nil, nil): "no answer"
        }
    }
}
