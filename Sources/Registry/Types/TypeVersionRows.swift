import ActivityModel
import JSON
package import Postgres

/// The rows of `type_versions`, and the lock that those take who decide by them.
package enum TypeVersionRows {
    /// The versions of a type with their schemas compiled, oldest first.
    static func compiled(
        _ app: BundleID,
        _ name: ActivityTypeName,
        on query: (Query) async throws -> Rows
    ) async throws -> [TypeContext.Version] {
        let rows = try await query(
            """
            SELECT version, attributes_schema::text, content_state_schema::text, min_app_version, retired_at IS NOT NULL
            FROM type_versions
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) ORDER BY version
            """
        )
        return try rows.decoded(as: (Int32, String, String, String?, Bool).self).map {
            version,
            attributes,
            contentState,
            least,
            isRetired in
            TypeContext.Version(
                version: Int(version),
                attributesSchema: try ContentSchema(JSONValue(parsing: attributes)),
                contentStateSchema: try ContentSchema(JSONValue(parsing: contentState)),
                minAppVersion: least.flatMap { AppVersion($0) },
                isRetired: isRetired
            )
        }
    }

    /// Which version a device decodes; nil if there is no such type.
    static func rule(
        _ app: BundleID,
        _ name: ActivityTypeName,
        on connection: PostgresConnection
    ) async throws -> TypeVersions? {
        let rows = try await connection.query(
            """
            SELECT version, min_app_version, retired_at IS NOT NULL FROM type_versions
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) ORDER BY version
            """
        )
        let versions = try rows.decoded(as: (Int32, String?, Bool).self).map { version, least, isRetired in
            TypeVersions.Version(Int(version), minAppVersion: least.flatMap { AppVersion($0) }, isRetired: isRetired)
        }
        return versions.isEmpty ? nil : TypeVersions(versions)
    }

    /// The statement that keeps types as they are until the transaction ends, and says when each was last changed. It
    /// comes before the locks of activities.
    package static func hold(_ types: some Sequence<TypeContext>) -> Query {
        let types = Set(types.map(\.key)).sorted {
            ($0.app.rawValue, $0.name.rawValue) < ($1.app.rawValue, $1.name.rawValue)
        }
        return """
            SELECT t.bundle_id, t.type_name, t.updated_at
            FROM unnest(\(types.map(\.app.rawValue)), \(types.map(\.name.rawValue))) AS r(bundle_id, type_name)
            JOIN activity_types AS t USING (bundle_id, type_name)
            ORDER BY t.bundle_id, t.type_name FOR SHARE OF t
            """
    }

    /// When the held types were last changed.
    package static func updates(_ held: Rows) throws -> [RegistryCaches.TypeKey: PGTimestamp] {
        var updates: [RegistryCaches.TypeKey: PGTimestamp] = [:]
        for (app, name, time) in try held.decoded(as: (String, String, PGTimestamp).self) {
            updates[.init(app: BundleID(stored: app), name: ActivityTypeName(stored: name))] = time
        }
        return updates
    }
}

extension TypeContext {
    package var key: RegistryCaches.TypeKey { .init(app: app, name: name) }

    /// The error for whoever has judged by this and must read it again.
    package var outdated: OutdatedType { OutdatedType(type: key) }

    /// - Throws: ``OutdatedType`` if the type was changed since it was read.
    package func check(_ updates: [RegistryCaches.TypeKey: PGTimestamp]) throws(OutdatedType) {
        if updates[key] != updatedAt { throw outdated }
    }
}
