package import APITypes
package import ActivityModel
import JSON
import Postgres
import Store

extension Registry {
    /// The types of an app with their newest versions, in the order of their names.
    package func types(_ app: BundleID, _ page: PageRequest) async throws -> Page<TypeResource> {
        let after = try page.position(in: .types, ActivityTypeName.self)
        let types = try await database.withConnection { connection in
            try await store.requireApp(app, connection)
            return try await Self.readTypes(app, after: after?.rawValue, limit: page.limit + 1, connection)
        }
        return .cut(types, of: .types, limit: page.limit) { [$0.name.rawValue] }
    }

    /// One type with its newest version.
    ///
    /// - Throws: 404.
    package func type(_ app: BundleID, _ name: ActivityTypeName) async throws -> TypeResource {
        let types = try await database.withConnection { try await Self.readTypes(app, name: name, $0) }
        guard let type = types.first else { throw Problem.notFound("the activity type") }
        return type
    }

    /// The versions of a type, newest first.
    ///
    /// - Throws: 404.
    package func typeVersions(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ page: PageRequest
    ) async throws -> Page<TypeVersionResource> {
        let before = try page.position(in: .versions, Int32.self)
        let versions = try await readVersions(
            """
            SELECT \(unescaped: Self.versionColumns) FROM type_versions
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue)
              AND (\(before)::int4 IS NULL OR version < \(before))
            ORDER BY version DESC LIMIT \(page.limit + 1)
            """
        )
        // Every type has a version, so a first page without one means that there is no such type.
        if versions.isEmpty, before == nil { throw Problem.notFound("the activity type") }
        return .cut(versions, of: .versions, limit: page.limit) { [String($0.version)] }
    }

    /// One version of a type.
    ///
    /// - Throws: 404.
    func typeVersion(_ app: BundleID, _ name: ActivityTypeName, _ version: Int) async throws -> TypeVersionResource {
        let versions = try await readVersions(
            """
            SELECT \(unescaped: Self.versionColumns) FROM type_versions
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) AND version = \(Int64(version))
            """
        )
        guard let version = versions.first else { throw Problem.notFound("the version") }
        return version
    }

    private static let versionColumns =
        "version, attributes_schema::text, content_state_schema::text, min_app_version, created_at, retired_at"

    private func readVersions(_ query: Query) async throws -> [TypeVersionResource] {
        let rows = try await database.query(query)
        return try rows.map { row in
            let least: String? = try row["min_app_version"]
            return TypeVersionResource(
                version: try row["version"],
                attributesSchema: try JSONValue(parsing: row["attributes_schema"]),
                contentStateSchema: try JSONValue(parsing: row["content_state_schema"]),
                minAppVersion: least.flatMap { AppVersion($0) },
                createdAt: try row["created_at"],
                retiredAt: try row["retired_at"]
            )
        }
    }

    static func readTypes(
        _ app: BundleID,
        name: ActivityTypeName? = nil,
        after: String? = nil,
        limit: Int = 1,
        _ connection: PostgresConnection
    ) async throws -> [TypeResource] {
        let rows = try await connection.query(
            """
            SELECT t.type_name, v.version, v.attributes_schema::text, v.content_state_schema::text, t.policy::text,
                   v.min_app_version,
                   t.created_at, t.updated_at
            FROM activity_types AS t
            CROSS JOIN LATERAL (
                SELECT * FROM type_versions AS v
                WHERE v.bundle_id = t.bundle_id AND v.type_name = t.type_name ORDER BY v.version DESC LIMIT 1
            ) AS v
            WHERE t.bundle_id = \(app.rawValue)
              AND (\(name?.rawValue)::text IS NULL OR t.type_name = \(name?.rawValue))
              AND (\(after)::text IS NULL OR t.type_name > \(after))
            ORDER BY t.type_name LIMIT \(limit)
            """
        )
        return try rows.map { row in
            let least: String? = try row["min_app_version"]
            return TypeResource(
                name: ActivityTypeName(stored: try row["type_name"]),
                version: try row["version"],
                attributesSchema: try JSONValue(parsing: row["attributes_schema"]),
                contentStateSchema: try JSONValue(parsing: row["content_state_schema"]),
                policy: try Policy.stored(row["policy"]),
                minAppVersion: least.flatMap { AppVersion($0) },
                createdAt: try row["created_at"],
                updatedAt: try row["updated_at"]
            )
        }
    }
}
