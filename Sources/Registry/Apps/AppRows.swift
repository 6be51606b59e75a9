package import ActivityModel
package import Postgres
import Store

/// The rows of `apps` and `signing_keys`, as starts hold them.
package enum AppRows {
    /// The statement that holds apps in the order of their ids: nobody deletes one before the transaction ends. It
    /// returns the ids of those that it holds. Unless it `isPatient`, it leaves out those that somebody else has locked.
    package static func hold(_ apps: [BundleID], isPatient: Bool) -> Query {
        """
        SELECT bundle_id FROM apps WHERE bundle_id = ANY(\(apps.map(\.rawValue))) ORDER BY bundle_id
        FOR KEY SHARE \(unescaped: isPatient ? "" : "SKIP LOCKED")
        """
    }

    /// The statement that holds the signing keys of apps. Unless it `isPatient`, it leaves out those of apps that somebody
    /// else has locked: a deletion has locked the keys, too. Its rows are ``SigningKeyName``.
    ///
    /// Run it after ``hold(_:isPatient:)``. It holds the apps again, and reads the keys as they are then.
    package static func holdKeys(of apps: [BundleID], isPatient: Bool) -> Query {
        """
        SELECT k.bundle_id, k.environment::text FROM (
            \(part: hold(apps, isPatient: isPatient))
        ) AS a CROSS JOIN LATERAL (
            SELECT bundle_id, environment FROM signing_keys WHERE bundle_id = a.bundle_id
            ORDER BY environment FOR KEY SHARE
        ) AS k
        """
    }
}

/// The app and the environment of a signing key.
package struct SigningKeyName {
    package let app: BundleID
    package let environment: APNSEnvironment

    /// Reads a row of ``AppRows/holdKeys(of:isPatient:)``.
    package init(_ row: Row) throws {
        app = BundleID(stored: try row["bundle_id"])
        environment = try .stored(row["environment"])
    }
}
