package import ActivityModel
package import Postgres

extension AudienceRows {
    /// The statement that reads the `activity_key` of each activity whose audience names a user or one of some devices.
    package static func activities(naming user: UserID, _ devices: [String], in app: BundleID) -> Query {
        """
        SELECT activity_key FROM audience_members
        WHERE bundle_id = \(app.rawValue) AND (
            kind = 'user' AND member_id = \(user.rawValue) OR kind = 'device' AND member_id = ANY(\(devices))
        )
        """
    }

    /// The statement that forgets every mention of a user, and of the user's devices, in an audience. Run it while the
    /// devices are still there. It returns the `activity_key` of each mention.
    package static func erasure(of user: UserID, in app: BundleID) -> Query {
        """
        DELETE FROM audience_members AS m
        WHERE m.bundle_id = \(app.rawValue) AND (
            m.kind = 'user' AND m.member_id = \(user.rawValue)
            OR m.kind = 'device' AND m.member_id IN (
                SELECT device_id FROM devices
                WHERE bundle_id = \(app.rawValue) AND user_id = \(user.rawValue)
            )
        )
        RETURNING m.activity_key
        """
    }
}
