package import APITypes
package import ActivityModel
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Retires a version of a type, or takes that back.
    ///
    /// Phones that decode no newer version block no state any more: Tally accepts states that they cannot decode, and
    /// withholds those from them. The same again changes nothing.
    ///
    /// - Throws: 404; 409 `newest_version` for the newest, because no version could replace it.
    package func putTypeVersion(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ version: Int,
        _ request: TypeVersionRequest
    ) async throws -> TypeVersionResource {
        guard let number = Int32(exactly: version) else { throw Problem.notFound("the version") }
        try await database.withTransaction { connection in
            try await store.holdApp(app, connection)
            let rows = try await connection.pipeline([
                """
                SELECT FROM activity_types
                WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) FOR NO KEY UPDATE
                """,
                """
                SELECT retired_at IS NOT NULL FROM type_versions
                WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) AND version = \(number)
                """,
            ])
            let before = try await TypeVersionRows.rule(app, name, on: connection)
            guard let before, let wasRetired = try rows[1].single(Bool.self) else {
                throw Problem.notFound("the version")
            }
            if request.retired, version == before.newest { throw Problem.newestVersion(version) }
            _ = try await connection.pipeline([
                """
                UPDATE type_versions
                SET retired_at = CASE WHEN \(request.retired) THEN coalesce(retired_at, clock_timestamp()) END
                WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) AND version = \(number)
                """,
                """
                UPDATE activity_types SET updated_at = clock_timestamp()
                WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue)
                """,
            ])
            if request.retired != wasRetired {
                try await AuditRows.record(
                    .typeChanged,
                    of: app,
                    name.rawValue,
                    before: Self.auditJSON(version, isRetired: wasRetired),
                    after: Self.auditJSON(version, isRetired: request.retired),
                    on: connection
                )
                _ = try await connection.execute(Rejudgement.note(app, name))
            }
        }
        let type = RegistryCaches.TypeKey(app: app, name: name)
        caches.types.remove(type)
        try await Rejudgement(registry: self, type: type).run()
        return try await typeVersion(app, name, version)
    }

    private static func auditJSON(_ version: Int, isRetired: Bool) -> JSONValue {
        ["version": .number(JSONNumber(version)), "retired": .bool(isRetired)]
    }
}
