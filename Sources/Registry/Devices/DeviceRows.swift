package import ActivityModel
package import Postgres

/// The rows of `devices`.
package enum DeviceRows {
    /// A part of FROM: the key `k` of the device that a row names by app and id.
    ///
    /// Asks for the first device from that place on, because only the index of app and id has that order. A condition
    /// of two equations is slow under a plan that was made for a tiny table. That plan may take another index that
    /// begins with the app. Then it reads every device of the app for each row.
    package static func named(by row: String) -> String {
        """
        CROSS JOIN LATERAL (
            SELECT bundle_id, device_id, device_key FROM devices
            WHERE (bundle_id, device_id) >= (\(row).bundle_id, \(row).device_id) ORDER BY bundle_id, device_id LIMIT 1
        ) AS k
        WHERE k.bundle_id = \(row).bundle_id AND k.device_id = \(row).device_id
        ORDER BY k.device_key
        """
    }

    /// A part of FROM: the locked device `d` of a row with a key. The rows come in the order of the keys. Every
    /// transaction locks devices in that order.
    package static func held(by row: String) -> String {
        "CROSS JOIN LATERAL (SELECT * FROM devices WHERE device_key = \(row).device_key FOR NO KEY UPDATE) AS d"
    }

    /// The statement that holds devices in the order of their keys: nobody deletes one before the transaction ends. It returns
    /// the keys of the devices that exist.
    ///
    /// - Parameters:
    ///   - deviceKeys: The devices.
    ///   - againstReports: Whether reports and registrations of these devices wait, too.
    /// - Returns: The statement.
    package static func hold(_ deviceKeys: [Int64], againstReports: Bool = false) -> Query {
        """
        SELECT device_key FROM devices WHERE device_key = ANY(\(deviceKeys)) ORDER BY device_key
        FOR \(unescaped: againstReports ? "NO KEY UPDATE" : "KEY SHARE")
        """
    }

    /// The statement that reads the ids of a user's devices.
    package static func ids(of user: UserID, in app: BundleID) -> Query {
        "SELECT device_id FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)"
    }

    /// The statement that locks the devices of a user before they are deleted. Reports and registrations lock devices
    /// before activities, too.
    package static func hold(of user: UserID, in app: BundleID) -> Query {
        """
        SELECT FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)
        ORDER BY device_key FOR UPDATE
        """
    }

    /// The statement that deletes the devices of a user. It returns their keys and ids, as ``TimelineErasure`` wants it.
    package static func deletion(of user: UserID, in app: BundleID) -> Query {
        "DELETE FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue) RETURNING device_key, device_id"
    }
}
