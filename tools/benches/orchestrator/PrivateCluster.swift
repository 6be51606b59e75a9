import BenchSupport
import Foundation
import LocalPostgres
import Logging
import Postgres
import Schema

/// A durable Postgres server for one run of the bench, with a migrated database that the figures are given copies of.
struct PrivateCluster: Sendable {
    static let template = "tally_template"

    let folder: String
    /// The server's `shared_buffers`; nil for the default of Postgres.
    var sharedBuffers: String?

    /// Prints the connection string of the database `postgres`, and serves until standard input ends.
    func run() async throws {
        var options = LocalCluster.Options(folder: folder)
        options.maximumConnections = 200
        options.settings["shared_buffers"] = sharedBuffers
        let cluster = try await LocalCluster(options)
        try await cluster.start()
        try await cluster.createDatabase(Self.template)
        try await migrate(cluster.connectionString(database: Self.template))
        print("\(cluster.processID ?? 0) \(cluster.connectionString())")
        fflush(nil)
        while readLine() != nil {}
        try await cluster.stop()
    }

    private func migrate(_ url: String) async throws {
        let database = try Database(url: url, configuration: Database.Configuration(), logger: Daemon.logger)
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        _ = try await Migrator(migrations: migrations).migrate(database)
        await database.shutDown()
    }
}
