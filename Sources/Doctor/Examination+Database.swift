import APITypes
import Postgres
import ReportTypes
import Store

extension Examination {
    /// Whether the database has refused a write of this daemon within the last minute.
    func writeChecks() -> [DoctorCheck] {
        guard let refusal = database.writes.current() else { return [] }
        let finding = "\(refusal.meaning) It has refused a write with SQLSTATE \(refusal.sqlState)."
        return [DoctorCheck("database_writes", .broken, finding, advice: Self.advice(for: refusal))]
    }

    private static func advice(for refusal: WriteRefusals.Refusal) -> String {
        switch refusal.sqlState {
        case "25006":
            "TALLY_DATABASE_URL must name the primary. If it does, see why default_transaction_read_only is on there."
        case "53100": "Make room on the disk of Postgres. The check `disk` says what else keeps WAL there."
        default: "Look at the log of Postgres and at its disk: the operating system refuses to read or write files."
        }
    }

    /// Whether the schema is one that this daemon can work with.
    func schemaCheck() async throws -> DoctorCheck {
        do {
            try await Migrator.ofThisVersion().check(database)
        } catch let error as MigrationError where error.code == .unreachable {
            if let cause = error.cause { throw cause }
            throw error
        } catch let error as MigrationError {
            return DoctorCheck("migrations", .broken, "\(error)", advice: Self.advice(for: error))
        }
        let rows = try await database.query(
            "SELECT number::int4, name FROM schema_migrations ORDER BY number DESC LIMIT 1",
            timeout: Self.patience
        )
        let newest = try rows.first(as: (Int32, String).self).map { "up to migration \($0) (\($1))" }
        return DoctorCheck("migrations", .ok, newest ?? "up to date")
    }

    private static func advice(for error: MigrationError) -> String {
        switch error.code {
        case .databaseTooOld, .outOfOrder: "Run `tallyd migrate` of this version."
        case .beforeBaseline: "Create an empty database for this version (docs/guides/upgrade.md)."
        case .wrongEncoding: DatabaseFacts.encodingAdvice
        case .databaseTooNew: "Upgrade this daemon: another one has migrated the database further."
        default: "Compare the versions of the daemons with the database (docs/guides/upgrade.md)."
        }
    }

    /// Whether today's and tomorrow's rows have partitions of their own.
    func partitionChecks() async throws -> [DoctorCheck] {
        let rows = try await database.query(
            """
            SELECT t.name,
                   (SELECT count(*) FROM generate_series(0, 1) AS ahead
                    WHERE to_regclass(
                        t.name || to_char((clock_timestamp() + ahead * interval '24 hours') AT TIME ZONE 'UTC', '"_"YYYYMMDD')
                    ) IS NULL)
            FROM unnest(\(PartitionDuty.tables)) AS t (name)
            """,
            timeout: Self.patience
        )
        return try rows.decoded(as: (String, Int64).self).map { table, missing in
            guard missing > 0 else {
                return DoctorCheck("partitions", of: table, .ok, "today's and tomorrow's are there")
            }
            let finding =
                "\(missing) of the partitions of today and tomorrow are missing; rows go to the default one, which is slower."
            let advice = "A daemon makes them every ten minutes: look in its log for 'cannot tend partitions'."
            return DoctorCheck("partitions", of: table, .warning, finding, advice: advice)
        }
    }
}
