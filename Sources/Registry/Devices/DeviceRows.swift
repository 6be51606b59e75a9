package import ActivityModel
package import Postgres

/// The statements that write `devices`, for the rooms above.
package enum DeviceRows {
    /// The statement that deletes the devices of a user. It returns their keys and ids, as ``TimelineErasure`` wants it.
    package static func deletion(of user: UserID, in app: BundleID) -> Query {
        "DELETE FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue) RETURNING device_key, device_id"
    }
}
