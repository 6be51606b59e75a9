package import LocalPostgres
import Logging
package import Postgres
import TestSupport

/// An empty database, and how a daemon gets there.
package struct DatabasePlace: Sendable {
    /// A server that a test has for itself.
    package struct OwnServer: Sendable {
        /// Where the data lie; nil for the folder of the test.
        package var folder: String?
        package var maximumConnections = 100
        /// Whether a second server follows the first, and a commit waits for it.
        package var hasStandby = false

        package init() {}
    }

    package let database: Database
    package let url: String
    /// Nil where the server is that of all tests, which goes on.
    package let server: LocalCluster?
    package let standby: LocalCluster?

    /// Lends a database of the tests' server.
    package static func with<R>(_ body: (DatabasePlace) async throws -> R) async throws -> R {
        try await withDatabase { database in
            let name = try await database.query("SELECT current_database()::text").first(as: String.self) ?? ""
            let url = try await TestCluster.shared.url(database: name)
            return try await body(DatabasePlace(database: database, url: url, server: nil, standby: nil))
        }
    }

    /// Lends the database of a server of its own.
    package static func with<R>(
        _ own: OwnServer,
        in folder: PrivateFolder,
        _ body: (DatabasePlace) async throws -> R
    ) async throws -> R {
        var options = LocalCluster.Options(folder: own.folder ?? folder.path("postgres"))
        options.maximumConnections = own.maximumConnections
        let server = try await LocalCluster(options)
        return try await running(server) {
            guard own.hasStandby else { return try await connected(server, nil, body) }
            var options = LocalCluster.Options(folder: folder.path("standby"))
            options.primary = server
            let standby = try await LocalCluster(options)
            return try await running(standby) {
                try await server.awaitStandby()
                return try await connected(server, standby, body)
            }
        }
    }

    private static func connected<R>(
        _ server: LocalCluster,
        _ standby: LocalCluster?,
        _ body: (DatabasePlace) async throws -> R
    ) async throws -> R {
        let url = server.connectionString(orOn: standby)
        // Servers go away here on purpose.
        let database = try Database(url: url, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let place = DatabasePlace(database: database, url: url, server: server, standby: standby)
        let result: Result<R, any Error>
        do {
            result = .success(try await body(place))
        } catch {
            result = .failure(error)
        }
        await database.shutDown()
        return try result.get()
    }

    /// Lends a running server. Nobody wants the data afterwards.
    private static func running<R>(_ server: LocalCluster, _ body: () async throws -> R) async throws -> R {
        let end = { @Sendable in
            server.stopAtExit()
            server.removeData()
        }
        let duty = LastDuties.add(end)
        defer {
            LastDuties.remove(duty)
            end()
        }
        try await server.start()
        return try await body()
    }
}
