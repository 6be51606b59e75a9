import APITypes
package import ActivityModel
package import Postgres

extension Store {
    /// Makes sure that an app exists.
    ///
    /// - Throws: 404.
    package func requireApp(_ id: BundleID) async throws {
        try await database.withConnection { try await requireApp(id, $0) }
    }

    /// Makes sure that an app exists.
    ///
    /// - Throws: 404.
    package func requireApp(_ id: BundleID, _ connection: PostgresConnection) async throws {
        let rows = try await connection.query("SELECT 1 FROM apps WHERE bundle_id = \(id.rawValue)")
        if rows.isEmpty { throw Problem.notFound("the app") }
    }
}
