package import ActivityModel
package import Postgres

extension PushRows {
    /// The statement that deletes some pushes of an app, at most `limit`. It leaves those that others hold.
    package static func deletion(of app: BundleID, limit: Int) -> Query {
        """
        DELETE FROM pushes WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM pushes WHERE bundle_id = \(app.rawValue)
            LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        """
    }
}
