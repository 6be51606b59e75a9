package import APITypes
package import ActivityModel
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Changes the parts of a type's policy that a merge patch names. The schemas stay.
    ///
    /// - Throws: 404; 422 for a policy that is wrong or does not fit the schemas.
    package func patchType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ patch: TypePatch
    ) async throws -> TypeResource {
        let type = try await database.withTransaction { connection in
            let locked = try await connection.query(
                """
                SELECT policy::text FROM activity_types
                WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) FOR NO KEY UPDATE
                """
            )
            guard let text = try locked.single(String.self) else { throw Problem.notFound("the activity type") }
            let stored = try Policy.stored(text)
            let policy = try patch.applied(to: stored)
            // A statement of its own: it sees what the lock waited for.
            guard let type = try await Self.readTypes(app, name: name, connection).first else {
                throw Problem.notFound("the activity type")
            }
            guard policy != stored else { return type }
            try TypeSchemas.check(
                policy,
                attributes: type.attributesSchema,
                contentState: type.contentStateSchema
            )
            try await Self.storePolicy(policy, app, name, connection)
            try await AuditRows.record(
                .typeChanged,
                of: app,
                name.rawValue,
                before: Self.auditJSON(type.version, stored, type.minAppVersion),
                after: Self.auditJSON(type.version, policy, type.minAppVersion),
                on: connection
            )
            return try await Self.readTypes(app, name: name, connection).first ?? type
        }
        caches.types.remove(RegistryCaches.TypeKey(app: app, name: name))
        wake()
        return type
    }
}
