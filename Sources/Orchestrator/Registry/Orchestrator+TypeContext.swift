import APITypes
package import ActivityModel
import JSON
import Postgres

extension Orchestrator {
    /// An activity type with all its versions, compiled; believed for a second.
    ///
    /// - Throws: 422 `unknown_type` if the app has no such type.
    package func typeContext(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeContext {
        let key = RegistryCaches.TypeKey(app: app, name: name)
        let lookUp = registry.types.lookUp(key)
        if case .fresh(let context) = lookUp { return context }
        let rows = try await database.query(
            """
            SELECT policy::text, updated_at FROM activity_types
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue)
            """
        )
        guard let (policy, updatedAt) = try rows.first(as: (String, PGTimestamp).self) else {
            registry.types.remove(key)
            throw Problem.unknownType(name)
        }
        if case .outdated(let context) = lookUp, context.updatedAt == updatedAt {
            registry.types.store(context, for: key)
            return context
        }
        let versions = try await compiledVersions(app, name)
        // Versions are committed with their type, and read after it: none means that the type has just been deleted.
        guard let newest = versions.last else { throw Problem.unknownType(name) }
        let context = TypeContext(
            app: app,
            name: name,
            policy: try Policy(json: JSONValue(parsing: policy)),
            versions: versions,
            newest: newest,
            updatedAt: updatedAt
        )
        registry.types.store(context, for: key)
        return context
    }

    private func compiledVersions(_ app: BundleID, _ name: ActivityTypeName) async throws -> [TypeContext.Version] {
        let rows = try await database.query(
            """
            SELECT version, attributes_schema::text, content_state_schema::text, min_app_version FROM type_versions
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) ORDER BY version
            """
        )
        return try rows.decoded(as: (Int32, String, String, String?).self).map {
            version,
            attributes,
            contentState,
            least in
            TypeContext.Version(
                version: Int(version),
                attributesSchema: try ContentSchema(JSONValue(parsing: attributes)),
                contentStateSchema: try ContentSchema(JSONValue(parsing: contentState)),
                minAppVersion: least.flatMap { AppVersion($0) }
            )
        }
    }
}
