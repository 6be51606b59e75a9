package import ActivityModel
package import Postgres

extension AudienceRows {
    /// The statement that forgets every mention of a user, and of the user's devices, in an audience. Run it while the
    /// devices are still there.
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
        """
    }
}
