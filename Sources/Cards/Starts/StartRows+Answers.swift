package import ActivityModel
package import Postgres
import Store

extension StartRows {
    /// A start as the answer to its push leaves it.
    package struct Answered: Sendable {
        let deviceKey: Int64
        /// Tells the claim that was answered from a later one of the same start.
        let claimedAt: PGTimestamp
        let machine: StartStateMachine
        /// Whether it keeps the time when its claim said that it is due.
        let keepsDueAt: Bool
        /// Otherwise how long until it is due; nil: time alone does not make it due.
        let delay: Duration?

        package init(
            deviceKey: Int64,
            claimedAt: PGTimestamp,
            machine: StartStateMachine,
            keepsDueAt: Bool,
            delay: Duration?
        ) {
            self.deviceKey = deviceKey
            self.claimedAt = claimedAt
            self.machine = machine
            self.keepsDueAt = keepsDueAt
            self.delay = delay
        }
    }

    /// The condition that the start `s` is still claimed as it was when the push of the answer `r` left.
    private static let isOpen = "s.claimed_at = r.claimed_at AND s.state = 'claimed'"

    /// The statement that locks the starts of answered claims if they are open, and reads what their devices have
    /// reported. Its columns: `device_key`, `renewed`, and whether the device has a live start token for the type.
    package static func look(
        at claims: [(deviceKey: Int64, claimedAt: PGTimestamp)],
        of activityKey: Int64,
        _ typeName: ActivityTypeName
    ) -> Query {
        """
        SELECT s.device_key, s.renewed, \(part: StartTokenState.isLive(device: "s.device_key", of: typeName))
        FROM unnest(
            \(claims.map { _ in activityKey }), \(claims.map(\.deviceKey)), \(claims.map(\.claimedAt))
        ) AS r(activity_key, device_key, claimed_at)
        JOIN starts AS s ON \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
        WHERE \(unescaped: isOpen)
        ORDER BY s.device_key FOR NO KEY UPDATE OF s
        """
    }

    /// The statement that stores the answers of starts of an activity that are open, in the order in which they are
    /// given.
    package static func answered(_ answers: [Answered], of activityKey: Int64) -> Query {
        """
        UPDATE starts AS s
        SET state = r.state::start_state, attempts = r.attempts, failures = r.failures, fell_back = r.fell_back,
            reason = r.reason,
            due_at = CASE WHEN r.keeps_due_at THEN s.due_at ELSE clock_timestamp() + r.delay END
        FROM unnest(
            \(answers.map { _ in activityKey }), \(answers.map(\.deviceKey)),
            \(answers.map(\.claimedAt)), \(answers.map(\.machine.state.rawValue)),
            \(answers.map { Int16($0.machine.attempts) }), \(answers.map { Int16($0.machine.failures) }),
            \(answers.map(\.machine.hasFallenBack)), \(answers.map(\.machine.reason)),
            \(answers.map(\.keepsDueAt)), \(answers.map(\.delay))
        ) AS r(activity_key, device_key, claimed_at, state, attempts, failures, fell_back, reason, keeps_due_at, delay)
        WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key")) AND \(unescaped: isOpen)
        """
    }

    /// The statement that cancels the starts of cards which end as soon as they report their tokens. A change of topics
    /// does the same when it finds a card. So a device that follows again gets a new card. If the backend has ended the
    /// card that such a card continues, the start is settled already.
    ///
    /// `deviceKeys`: those whose cards the transaction has made
    /// (``SubscriptionRows/insertion(of:in:knowing:endsOnUnfollow:)``).
    package static func cancellation(ofLeaving deviceKeys: [Int64], in activityKey: Int64) -> Query {
        """
        UPDATE starts AS s SET state = 'cancelled', revision = NULL
        WHERE \(unescaped: TopicFollowing.isAsked(by: "s.activity_key")) AND s.activity_key = \(activityKey)
          AND s.device_key = ANY(\(deviceKeys)) AND s.state = 'sent' AND EXISTS (
              SELECT FROM subscriptions AS c
              WHERE c.activity_key = s.activity_key AND c.device_key = s.device_key
                AND c.leaving AND c.state = 'waiting_for_token' OFFSET 0)
        """
    }
}
