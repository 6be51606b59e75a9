import LocalPostgres
import Postgres
import TestSupport

/// An empty database, and how a daemon gets there.
struct DatabasePlace: Sendable {
    let database: Database
    let url: String
    /// Nil where the server is that of all tests, which goes on.
    let server: LocalCluster?

    /// Lends a database of the tests' server, or one of a server of its own whose data lie in a folder.
    static func with<R>(
        ownServerIn folder: PrivateFolder?,
        _ body: (DatabasePlace) async throws -> R
    ) async throws -> R {
        guard let folder else {
            return try await withDatabase { database in
                let name = try await database.query("SELECT current_database()::text").first(as: String.self) ?? ""
                let url = try await TestCluster.shared.url(database: name)
                return try await body(DatabasePlace(database: database, url: url, server: nil))
            }
        }
        let server = try await LocalCluster(LocalCluster.Options(folder: folder.path("postgres")))
        let result: Result<R, any Error>
        do {
            try await server.start()
            let url = server.connectionString()
            let database = try Database(url: url)
            do {
                result = .success(try await body(DatabasePlace(database: database, url: url, server: server)))
            } catch {
                result = .failure(error)
            }
            await database.shutDown()
        } catch {
            result = .failure(error)
        }
        // Nobody wants the data.
        server.stopAtExit()
        server.removeData()
        return try result.get()
    }
}
