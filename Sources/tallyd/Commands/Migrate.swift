import ArgumentParser
import Logging
import Orchestrator
import Postgres
import Store

/// `tallyd migrate`: brings the database to this version's schema.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to the schema of this version.",
        discussion: "Forward only. Several at the same moment are harmless."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let reader = try await ConfigurationReader(file: options.config)
        let database = try Database(
            url: try reader.required(.databaseURL),
            logger: Daemon.logger(level: .warning)
        )
        let applied = try await Migrator.ofThisVersion().migrate(database)
        await database.shutDown()
        for migration in applied {
            print("applied V\(migration.number) \(migration.name)")
        }
        print(applied.isEmpty ? "nothing to do: the database is up to date" : "the database is up to date")
    }
}
