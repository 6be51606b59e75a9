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

    /// Makes sure that an app exists until the transaction ends.
    ///
    /// A transaction that inserts rows of the app calls this first. It waits for a deletion of the app, which locks the
    /// app before everything else. Without the lock the insert would fail by its foreign key.
    ///
    /// - Throws: 404.
    package func holdApp(_ id: BundleID, _ connection: PostgresConnection) async throws {
        let rows = try await connection.query(
            "SELECT 1 FROM apps WHERE bundle_id = \(id.rawValue) FOR KEY SHARE"
        )
        if rows.isEmpty { throw Problem.notFound("the app") }
    }
}
