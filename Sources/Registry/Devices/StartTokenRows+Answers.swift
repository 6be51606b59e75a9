package import ActivityModel
import Cards
package import Postgres
import Store

extension StartTokenRows {
    /// A start token that APNs did not take.
    package struct Failure: Sendable {
        let deviceKey: Int64
        let token: PushToken?
        /// Whether APNs knows it as dead. Otherwise it is rejected: Tally keeps it and sends no push to it.
        let isDead: Bool
        /// Since when it is dead, if APNs says so (milliseconds since 1970).
        let deadAt: Int64?
        /// APNs' words.
        let reason: String

        package init(deviceKey: Int64, token: PushToken?, isDead: Bool, deadAt: Int64?, reason: String) {
            self.deviceKey = deviceKey
            self.token = token
            self.isDead = isDead
            self.deadAt = deadAt
            self.reason = reason
        }
    }

    /// The statement that stores what APNs says about start tokens for a type, to which starts of an activity were
    /// sent. It writes an event for each token that is dead. A token that was reported meanwhile is not touched, nor is
    /// that of a device that has moved to the other environment with it. A token that is dead stays so, whatever a late answer
    /// says: the end of a halt must not revive it.
    package static func failed(
        _ failures: [Failure],
        of typeName: ActivityTypeName,
        in activityKey: Int64,
        _ environment: APNSEnvironment
    ) -> Query {
        let failures = failures.sorted { $0.deviceKey < $1.deviceKey }
        return """
            WITH failed AS (
                UPDATE start_tokens AS t
                SET state = CASE WHEN \(unescaped: isContradicted) THEN t.state ELSE r.state::token_state END,
                    contradictions = t.contradictions + CASE WHEN \(unescaped: isContradicted) THEN 1 ELSE 0 END
                FROM unnest(
                    \(failures.map(\.deviceKey)), \(failures.map { $0.token?.bytes }),
                    \(failures.map { $0.isDead ? "dead" : "rejected" }), \(failures.map(\.deadAt)), \(failures.map(\.reason))
                ) AS r(device_key, token, state, dead_at, reason)
                CROSS JOIN LATERAL (SELECT environment FROM devices WHERE device_key = r.device_key OFFSET 0) AS d
                WHERE \(unescaped: Query.byKey("t", "r", "device_key"))
                  AND t.type_name = \(typeName.rawValue) AND t.token = r.token AND t.state <> 'dead'
                  AND d.environment = \(environment.rawValue)::apns_environment
                RETURNING \(activityKey) AS activity_key, t.device_key, t.state, r.reason
            )
            \(unescaped: EventRows.tokenDeath(of: .start, from: "failed", where: "r.state = 'dead'"))
            """
    }

    /// The condition that the token `t` was reported after the death `r`.
    private static let isContradicted = PushExceptions.isContradicted(
        reportedAt: "t.registered_at",
        contradictions: "t.contradictions",
        diedAt: "r.dead_at"
    )
}
