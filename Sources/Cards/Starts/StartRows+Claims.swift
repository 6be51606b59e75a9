package import ActivityModel
package import Postgres

extension StartRows {
    /// The decision of a worker about a start that is due.
    package struct Decided: Sendable {
        let deviceKey: Int64
        let machine: StartStateMachine
        /// Whether its push is about to leave, or an alert in its place.
        package let isClaim: Bool
        /// The database's clock.
        let now: PGTimestamp
        /// When it is due again; nil: time alone does not make it due.
        package let dueAt: PGTimestamp?

        package init(
            deviceKey: Int64,
            machine: StartStateMachine,
            isClaim: Bool,
            now: PGTimestamp,
            dueAt: PGTimestamp?
        ) {
            self.deviceKey = deviceKey
            self.machine = machine
            self.isClaim = isClaim
            self.now = now
            self.dueAt = dueAt
        }
    }

    /// The statement that stores decisions about starts of an activity, in the transaction that has locked them. A
    /// start that leaves for the first time brings the revision `newest`.
    ///
    /// A start that may have left already keeps its revision: the card may show that one. One whose card was ended has
    /// none until it leaves again.
    package static func decided(_ decisions: [Decided], of activityKey: Int64, newest: Revision) -> Query {
        """
        UPDATE starts AS s
        SET state = r.state::start_state, attempts = r.attempts, fell_back = r.fell_back, reason = r.reason,
            revision = CASE WHEN r.attempts <= s.attempts THEN s.revision WHEN s.attempts = 0 THEN \(newest)
                ELSE coalesce(s.revision, \(newest)) END,
            claimed_at = CASE WHEN r.is_claim THEN r.now ELSE s.claimed_at END, due_at = r.due_at, renewed = false
        FROM unnest(
            \(decisions.map { _ in activityKey }), \(decisions.map(\.deviceKey)), \(decisions.map(\.machine.state.rawValue)),
            \(decisions.map { Int16($0.machine.attempts) }), \(decisions.map(\.machine.hasFallenBack)),
            \(decisions.map(\.machine.reason)), \(decisions.map(\.isClaim)), \(decisions.map(\.now)),
            \(decisions.map(\.dueAt))
        ) AS r(activity_key, device_key, state, attempts, fell_back, reason, is_claim, now, due_at)
        WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
        """
    }
}
