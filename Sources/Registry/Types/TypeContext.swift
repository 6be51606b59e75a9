package import APITypes
package import ActivityModel
package import JSON
import Postgres
import SwiftContent

/// The facts of an activity type for accepting and rendering, with its schemas compiled.
package final class TypeContext: Sendable {
    /// One version of the two schemas.
    package struct Version: Sendable {
        package let version: Int
        package let attributesSchema: ContentSchema
        package let contentStateSchema: ContentSchema
        /// The oldest version of the app that understands these schemas; nil: every one.
        package var minAppVersion: AppVersion?
        package var isRetired: Bool
    }

    package let app: BundleID
    package let name: ActivityTypeName
    package let policy: Policy
    /// By their numbers.
    private let schemas: [Int: Version]
    /// Which version a device decodes.
    package let versions: TypeVersions
    /// When the type was last changed; tells whether a cached context is still right.
    let updatedAt: PGTimestamp

    /// A type for a caller that needs only its versions: all of them, oldest first.
    convenience init(app: BundleID, name: ActivityTypeName, versions: [Version]) {
        self.init(
            app: app,
            name: name,
            policy: Policy(),
            versions: versions,
            updatedAt: PGTimestamp(microseconds: 0)
        )
    }

    /// `versions` are all of the type, oldest first.
    init(app: BundleID, name: ActivityTypeName, policy: Policy, versions: [Version], updatedAt: PGTimestamp) {
        self.app = app
        self.name = name
        self.policy = policy
        self.updatedAt = updatedAt
        schemas = Dictionary(versions.map { ($0.version, $0) }) { _, last in last }
        self.versions = TypeVersions(
            versions.map { .init($0.version, minAppVersion: $0.minAppVersion, isRetired: $0.isRetired) }
        )
    }

    /// The schema of one version, if there is such.
    func schema(_ part: SchemaPart, version: Int) -> ContentSchema? {
        switch part {
        case .attributes: schemas[version]?.attributesSchema
        case .contentState: schemas[version]?.contentStateSchema
        }
    }

    /// The version that is decoded where `app_versions` of the database say so: empty for apps that do not say theirs.
    package func version(ofStored appVersion: String) -> Int { versions.version(ofApp: AppVersion(appVersion)) }

    /// Whether a version decodes what is stored, and so goes to phones as it is.
    ///
    /// Stored content was settled for some version. If versions count times on different scales, its numbers are
    /// doubtful, like a caller's: they may have been meant for another version.
    package func decodes(_ stored: JSONValue, as part: SchemaPart, version: Int) -> Bool {
        guard let schema = schema(part, version: version) else { return false }
        let scales = Set(schemas.keys.flatMap { self.schema(part, version: $0)?.timeScales ?? [] })
        let (settled, errors) = schema.settle(stored, by: scales.count > 1 ? .caller : .settled, version: version)
        return errors.isEmpty && settled == stored
    }
}
