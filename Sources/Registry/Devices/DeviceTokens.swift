package import APITypes
package import ActivityModel
package import Postgres
import Store

/// The devices' own tokens, to which ordinary pushes go.
package enum DeviceTokens {
    /// One of which APNs says that it is no longer active, since when (milliseconds since 1970) if it says so.
    package struct Death: Sendable {
        let deviceKey: Int64
        let token: PushToken
        let at: Int64?

        package init(deviceKey: Int64, token: PushToken, at: Int64?) {
            self.deviceKey = deviceKey
            self.token = token
            self.at = at
        }
    }

    /// The statement that forgets tokens which are dead. A device that has reported anything since is there, and its
    /// token may be, too.
    package static func forget(_ deaths: [Death]) -> Query {
        let deaths = deaths.sorted { $0.deviceKey < $1.deviceKey }
        return """
            UPDATE devices AS d SET device_token = NULL
            FROM unnest(\(deaths.map(\.deviceKey)), \(deaths.map(\.token.bytes)), \(deaths.map(\.at)))
                AS r(device_key, token, dead_at)
            WHERE d.device_key = r.device_key AND d.device_token = r.token
              AND (r.dead_at IS NULL
                   OR d.updated_at <= 'epoch'::timestamptz + r.dead_at * interval '1 millisecond')
            """
    }

    /// The token of a device that is held.
    package struct Held {
        package let deviceKey: Int64
        package let environment: APNSEnvironment
        /// Nil if the device has none.
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
            SELECT device_key, environment::text, device_token FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue) FOR KEY SHARE
            """
        case .user(let id):
            """
            SELECT device_key, environment::text, device_token FROM devices
            WHERE bundle_id = \(app.rawValue) AND user_id = \(id.rawValue) ORDER BY device_key
            FOR KEY SHARE
            """
        }
    }
}
