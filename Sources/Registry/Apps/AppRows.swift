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

    /// The statement that holds the signing keys of apps, as ``hold(_:isPatient:)`` does the apps. Its rows are
    /// ``SigningKeyName``.
    package static func holdKeys(of apps: [BundleID]) -> Query {
        """
        SELECT bundle_id, environment::text FROM signing_keys WHERE bundle_id = ANY(\(apps.map(\.rawValue)))
        ORDER BY bundle_id, environment FOR KEY SHARE
        """
    }
}

/// The app and the environment of a signing key.
package struct SigningKeyName {
    package let app: BundleID
    package let environment: APNSEnvironment

    /// Reads a row of ``AppRows/holdKeys(of:)``.
    package init(_ row: Row) throws {
        app = BundleID(stored: try row["bundle_id"])
        environment = try .stored(row["environment"])
    }
}
