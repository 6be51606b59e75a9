package import APITypes
package import ActivityModel
package import Cards
package import Postgres
import Store

/// The devices' own tokens, to which ordinary pushes go. They are given up as start tokens are (``StartTokenRows``).
package enum DeviceTokens {
    /// A token that APNs did not take.
    package struct Failure: Sendable {
        let deviceKey: Int64
        /// Where the push was sent.
        let environment: APNSEnvironment
        let token: PushToken
        /// Whether APNs knows it as dead. Otherwise it is rejected: Tally keeps it and sends no push to it.
        let isDead: Bool
        /// Since when it is dead, if APNs says so (milliseconds since 1970).
        let deadAt: Int64?

        /// Nil if the answer to a push says nothing against its token.
        package init?(
            deviceKey: Int64,
            in environment: APNSEnvironment,
            token: PushToken,
            _ consequence: Consequence
        ) {
            switch consequence {
            case .done, .refused, .again: return nil
            case .forget(let milliseconds):
                isDead = true
                deadAt = milliseconds
            case .park:
                isDead = false
                deadAt = nil
            }
            self.deviceKey = deviceKey
            self.environment = environment
            self.token = token
        }
    }

    /// The statement that stores what APNs says about tokens. It forgets those that are dead. A token that was reported
    /// meanwhile is not touched, nor is that of a device that has moved to the other environment with it.
    package static func failed(_ failures: [Failure]) -> Query {
        let failures = failures.sorted { $0.deviceKey < $1.deviceKey }
        return """
            UPDATE devices AS d
            SET device_token = CASE WHEN r.is_dead AND NOT \(unescaped: isContradicted) THEN NULL ELSE d.device_token END,
                token_rejected_at = CASE WHEN NOT r.is_dead THEN coalesce(d.token_rejected_at, clock_timestamp()) END,
                token_contradictions = d.token_contradictions + CASE WHEN \(unescaped: isContradicted) THEN 1 ELSE 0 END
            FROM unnest(
                \(failures.map(\.deviceKey)), \(failures.map(\.environment.rawValue)), \(failures.map(\.token.bytes)),
                \(failures.map(\.isDead)), \(failures.map(\.deadAt))
            ) AS r(device_key, environment, token, is_dead, dead_at)
            WHERE d.device_key = r.device_key AND d.device_token = r.token
              AND d.environment = r.environment::apns_environment
              AND d.device_key = ANY(\(failures.map(\.deviceKey)))
            """
    }

    /// The condition that the token of the device `d` was reported after the death `r`.
    private static let isContradicted = PushExceptions.isContradicted(
        reportedAt: "coalesce(d.token_registered_at, d.updated_at)",
        contradictions: "d.token_contradictions",
        diedAt: "r.dead_at"
    )

    /// The part of a statement that revives the rejected tokens of the devices in the rows of a table, at the end of a
    /// halt. It returns their column `device_key`.
    package static func revival(of devices: String) -> String {
        """
        UPDATE devices AS d SET token_rejected_at = NULL FROM \(devices) AS r
        WHERE \(Query.byKey("d", "r", "device_key"))
        RETURNING d.device_key
        """
    }

    /// The token of a device that is held.
    package struct Held {
        package let deviceKey: Int64
        package let environment: APNSEnvironment
        /// Nil if the device has none to which a push may go.
        package let token: [UInt8]?

        /// Reads a row of ``hold(of:in:)``.
        package init(_ row: Row) throws {
            deviceKey = try row["device_key"]
            environment = try .stored(row["environment"])
            token = try row["device_token"]
        }
    }

    /// The statement that holds one device, or those of a user in the order of their keys: nobody deletes one before
    /// the transaction ends. Its rows are ``Held``.
    package static func hold(of owner: UserOrDevice, in app: BundleID) -> Query {
        switch owner {
        case .device(let id):
            """
            SELECT device_key, environment::text, \(unescaped: UsableToken.ofDevice) AS device_token
            FROM devices AS d
            WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue) FOR KEY SHARE
            """
        case .user(let id):
            """
            SELECT device_key, environment::text, \(unescaped: UsableToken.ofDevice) AS device_token
            FROM devices AS d
            WHERE bundle_id = \(app.rawValue) AND user_id = \(id.rawValue) ORDER BY device_key
            FOR KEY SHARE
            """
        }
    }
}
