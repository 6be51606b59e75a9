package import ActivityModel
package import Postgres

/// The statements, and parts of them, that write `starts`: one row for each device on which an activity is to begin.
package enum StartRows {
    /// The statement that holds starts of an activity in the order of their devices, until the transaction ends. Whoever locks
    /// cards as well locks the starts before.
    package static func hold(_ deviceKeys: [Int64], in activityKey: Int64) -> Query {
        """
        SELECT FROM starts WHERE activity_key = \(activityKey) AND device_key = ANY(\(deviceKeys))
        ORDER BY device_key FOR NO KEY UPDATE
        """
    }

    /// The statement that cancels the starts of a device in other environments than its own.
    package static func cancel(deviceKey: Int64, besides environment: APNSEnvironment) -> Query {
        """
        UPDATE starts AS s SET state = 'cancelled', due_at = NULL,
            reason = '\(unescaped: StartStateMachine.Reason.environmentChanged.rawValue)'
        FROM activities AS a
        WHERE s.device_key = \(deviceKey) AND s.state NOT IN ('sent', 'settled', 'cancelled')
          AND a.activity_key = s.activity_key AND a.environment <> \(environment.rawValue)::apns_environment
        """
    }
}
