import APITypes
package import ActivityModel
package import Postgres

/// The rows of `ticket_revocations`.
package enum RevocationRows {
    /// The statement that refuses the signed tickets that a user has by now. An app without ticket keys has none.
    package static func erasure(of user: UserID, in app: BundleID) -> Query {
        """
        INSERT INTO ticket_revocations (bundle_id, subject_sha256, revoked_before)
        SELECT \(app.rawValue), \(UserOrDevice.user(user).sha256), clock_timestamp()
        WHERE EXISTS (SELECT FROM ticket_keys WHERE bundle_id = \(app.rawValue))
        \(unescaped: laterWins)
        """
    }

    /// The end of a statement that inserts a revocation.
    static let laterWins = """
        ON CONFLICT (bundle_id, subject_sha256) DO UPDATE
        SET revoked_before = greatest(ticket_revocations.revoked_before, EXCLUDED.revoked_before)
        """
}
