package import Postgres
import Schema

extension Migrator {
    /// The migrations of this version.
    package static func ofThisVersion() throws -> Migrator {
        try Migrator(
            migrations: try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        )
    }
}
