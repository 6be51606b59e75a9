/// Applies migrations, forward only, each in its own transaction. Also checks whether a database matches this program.
package struct Migrator: Sendable {
    private let migrations: [Migration]

    /// An advisory lock during a migration, so that daemons that start together run one after the other. It is "tally"
    /// in ASCII.
    private static let lock: Int64 = 0x74_61_6C_6C_79

    /// - Throws: ``MigrationError/Code/malformed`` unless the numbers are 1, 2, 3 and so on, in order.
    package init(migrations: [Migration]) throws(MigrationError) {
        guard migrations.map(\.number) == Array(1..<migrations.count + 1) else {
            throw MigrationError(.malformed, "migrations are not numbered from 1 without gaps")
        }
        self.migrations = migrations
    }

    /// Applies the missing migrations.
    ///
    /// Several calls at the same time are safe: the later ones wait and then have nothing to do. `timeout` limits each
    /// statement, including the wait for another migrator.
    ///
    /// - Returns: The migrations that this call applied.
    package func migrate(
        _ database: Database,
        timeout: Duration = .seconds(600)
    ) async throws(MigrationError) -> [Migration] {
        try await reporting { try await createTable(database, timeout) }
        var applied: [Migration] = []
        while let migration = try await applyNext(database, timeout) { applied.append(migration) }
        return applied
    }

    /// Checks whether this program can work with the current database. A newer schema is fine if its migration declares
    /// it compatible.
    package func check(_ database: Database) async throws(MigrationError) {
        let history = try await reporting {
            try await database.withConnection { connection in
                try await Self.checkEncoding(connection)
                guard try await Self.hasTable(connection) else {
                    return MigrationHistory(known: migrations, applied: [])
                }
                return try await readHistory(connection)
            }
        }
        try history.check()
    }

    private func createTable(_ database: Database, _ timeout: Duration) async throws {
        try await database.withTransaction { connection in
            try await Self.checkEncoding(connection)
            // The lock also covers "IF NOT EXISTS", which two sessions can pass at the same time.
            _ = try await connection.query("SELECT pg_advisory_xact_lock(\(Self.lock))", timeout: timeout)
            // Checked first, so that a program without the right to create tables succeeds if the table exists.
            guard try await !Self.hasTable(connection) else { return }
            try await connection.executeScript(
                """
                CREATE TABLE schema_migrations (
                    number          integer PRIMARY KEY CHECK (number > 0),
                    name            text NOT NULL,
                    version         integer NOT NULL CHECK (version > 0),
                    compatible_from integer NOT NULL CHECK (compatible_from BETWEEN 1 AND version),
                    checksum        bytea NOT NULL CHECK (length(checksum) = 32),
                    applied_at      timestamptz NOT NULL DEFAULT clock_timestamp()
                );
                COMMENT ON TABLE schema_migrations IS 'Migrations that this database has seen.';
                COMMENT ON COLUMN schema_migrations.version IS 'The schema version that it led to.';
                COMMENT ON COLUMN schema_migrations.compatible_from IS 'The oldest program version that can work with it.';
                COMMENT ON COLUMN schema_migrations.checksum IS 'SHA-256 of the file as it was applied.';
                """,
                timeout: timeout
            )
        }
    }

    private func applyNext(
        _ database: Database,
        _ timeout: Duration
    ) async throws(MigrationError) -> Migration? {
        var current: Migration?
        do {
            try await database.withTransaction { connection in
                _ = try await connection.query("SELECT pg_advisory_xact_lock(\(Self.lock))", timeout: timeout)
                current = try await readHistory(connection).pending().first
                guard let migration = current else { return }
                try await connection.executeScript(migration.sql, timeout: timeout)
                try await record(migration, connection)
            }
        } catch let error as MigrationError {
            throw error
        } catch {
            throw failure(error, current)
        }
        return current
    }

    private func record(_ migration: Migration, _ connection: PostgresConnection) async throws {
        try await connection.execute(
            """
            INSERT INTO schema_migrations (number, name, version, compatible_from, checksum)
            VALUES (
                \(Int32(clamping: migration.number)), \(migration.name), \(Int32(clamping: migration.version)),
                \(Int32(clamping: migration.compatibleFrom)), \(migration.checksum)
            )
            """
        )
    }

    private func failure(_ error: any Error, _ migration: Migration?) -> MigrationError {
        let cause = error as? PostgresError
        // With any other error, the server has rolled back the migration's transaction.
        let outside: [PostgresError.Code] = [.unreachable, .poolExhausted, .closed, .commitUnknown]
        guard let migration, !outside.contains(where: { $0 == cause?.code }) else {
            let message = "the database that TALLY_DATABASE_URL names did not answer"
            return MigrationError(.unreachable, message, cause: cause)
        }
        // Column, table, object or function: what it makes is there.
        let isThere = ["42701", "42P07", "42710", "42723"].contains(cause?.sqlState)
        let words =
            isThere
            ? "failed, because a part of it is there already: the rows of schema_migrations are not those of this database. "
                + "Restore a backup" : "failed"
        return MigrationError(.failed, "migration \(migration.number) (\(migration.name)) \(words)", cause: cause)
    }

    private func reporting<R>(_ body: () async throws -> R) async throws(MigrationError) -> R {
        do {
            return try await body()
        } catch let error as MigrationError {
            throw error
        } catch {
            throw MigrationError(
                .unreachable,
                "the schema's version could not be read from the database that TALLY_DATABASE_URL names",
                cause: error as? PostgresError
            )
        }
    }

    /// Refuses a database in which some text of a push would have no place.
    private static func checkEncoding(_ connection: PostgresConnection) async throws {
        let encoding = try await connection.query("SELECT current_setting('server_encoding')").first(as: String.self)
        guard let encoding, encoding != "UTF8" else { return }
        throw MigrationError(
            .wrongEncoding,
            """
            the encoding of the database is \(encoding), and Tally needs UTF8: make another with \
            `createdb --encoding UTF8 --template template0`, and name it in TALLY_DATABASE_URL
            """
        )
    }

    private static func hasTable(_ connection: PostgresConnection) async throws -> Bool {
        let rows = try await connection.query("SELECT to_regclass('schema_migrations') IS NOT NULL")
        return try rows.first(as: Bool.self) ?? false
    }

    private func readHistory(_ connection: PostgresConnection) async throws -> MigrationHistory {
        let rows = try await connection.query(
            "SELECT number, name, version, compatible_from, checksum FROM schema_migrations ORDER BY number"
        )
        let applied = try rows.decoded(as: (Int, String, Int, Int, [UInt8]).self).map {
            AppliedMigration(number: $0, name: $1, version: $2, compatibleFrom: $3, checksum: $4)
        }
        return MigrationHistory(known: migrations, applied: applied)
    }
}
