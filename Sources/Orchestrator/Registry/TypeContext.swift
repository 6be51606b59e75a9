package import ActivityModel
import Postgres

/// What accepting and rendering have to know of an activity type, with its schemas compiled.
package struct TypeContext: Sendable {
    /// One version of the two schemas.
    package struct Version: Sendable {
        package let version: Int
        package let attributesSchema: ContentSchema
        package let contentStateSchema: ContentSchema
        /// The oldest version of the app that understands these schemas; nil: every one.
        package let minAppVersion: AppVersion?
    }

    package let app: BundleID
    package let name: ActivityTypeName
    package let policy: Policy
    /// Oldest first; the last one is ``newest``.
    package let versions: [Version]
    package let newest: Version
    /// When the type was last changed; tells whether a cached context is still right.
    let updatedAt: PGTimestamp

    /// The version that a device with this version of the app decodes: the newest that it understands.
    ///
    /// A device that does not say its app version, or is older than all of them, counts as the oldest.
    package func version(forApp appVersion: AppVersion?) -> Version {
        let oldest = versions.first ?? newest
        guard let appVersion else { return oldest }
        let understood = versions.last { version in
            guard let least = version.minAppVersion else { return true }
            return least <= appVersion
        }
        return understood ?? oldest
    }
}
