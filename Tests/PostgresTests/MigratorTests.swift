import Postgres
import TestSupport
import Testing

@Suite("Migrations", .timeLimit(.minutes(2)))
struct MigratorTests {
    private func migration(
        _ number: Int,
        compatibleFrom: Int = 1,
        _ sql: String = ""
    ) throws -> Migration {
        let text = "-- version: \(number)\n-- compatible_from: \(compatibleFrom)\n\(sql)\n"
        return try Migration(number: number, name: "step_\(number)", sql: Array(text.utf8))
    }

    private func migrator(_ migrations: Migration...) throws -> Migrator {
        try Migrator(migrations: migrations)
    }

    @Test("Each is applied once, in order, and recorded")
    func apply() async throws {
        let first = try migration(1, "CREATE TABLE a (n int); INSERT INTO a VALUES (1);")
        let second = try migration(2, compatibleFrom: 2, "ALTER TABLE a ADD COLUMN m int; UPDATE a SET m = n + 1;")
        try await withDatabase { database in
            #expect(try await migrator(first).migrate(database) == [first])
            #expect(try await migrator(first, second).migrate(database) == [second])
            #expect(try await migrator(first, second).migrate(database) == [])
            try await migrator(first, second).check(database)
            #expect(try await database.query("SELECT m FROM a").first(as: Int.self) == 2)
            let rows = try await database.query(
                """
                SELECT number, name, version, compatible_from, checksum,
                    applied_at <= clock_timestamp() AS is_past
                FROM schema_migrations ORDER BY number
                """
            )
            #expect(rows.count == 2)
            let recorded = rows[1]
            #expect(try recorded["number"] as Int == 2)
            #expect(try recorded["name"] as String == "step_2")
            #expect(try recorded["version"] as Int == 2)
            #expect(try recorded["compatible_from"] as Int == 2)
            #expect(try recorded["checksum"] as [UInt8] == second.checksum)
            #expect(try recorded["is_past"] as Bool)
        }
    }

    @Test("Several migrators at once apply each step once")
    func concurrency() async throws {
        let steps = try (1...4).map { try migration($0, "CREATE TABLE t\($0) (n int);") }
        try await withDatabase { database in
            let applied = try await withThrowingTaskGroup(of: [Migration].self) { group in
                for _ in 0..<6 { group.addTask { try await Migrator(migrations: steps).migrate(database) } }
                var applied: [Migration] = []
                for try await some in group { applied += some }
                return applied
            }
            #expect(applied.map(\.number).sorted() == [1, 2, 3, 4])
        }
    }

    @Test("One that fails leaves no trace, and those before it stay")
    func failure() async throws {
        let good = try migration(1, "CREATE TABLE a (n int);")
        let bad = try migration(2, "CREATE TABLE b (n int); SELECT 1/0;")
        try await withDatabase { database in
            let error = await #expect(throws: MigrationError.self) { try await migrator(good, bad).migrate(database) }
            #expect(error?.code == .failed)
            #expect(error?.message == "migration 2 (step_2) failed")
            #expect(error?.cause?.sqlState == "22012")
            try await migrator(good).check(database)
            #expect(try await database.query("SELECT to_regclass('b') IS NULL").first(as: Bool.self) == true)
        }
    }

    @Test("A migration cannot commit behind the migrator's back")
    func commitInside() async throws {
        let sly = try migration(1, "CREATE TABLE a (n int); COMMIT;")
        try await withDatabase { database in
            let error = await #expect(throws: MigrationError.self) { try await migrator(sly).migrate(database) }
            #expect(error?.code == .failed)
        }
    }

    struct Verdict: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let applied: [(number: Int, compatibleFrom: Int)]
        let known: [Int]
        let code: MigrationError.Code?
    }

    static let verdicts = [
        Verdict(testDescription: "nothing applied", applied: [], known: [1], code: .databaseTooOld),
        Verdict(testDescription: "one missing", applied: [(1, 1)], known: [1, 2], code: .databaseTooOld),
        Verdict(testDescription: "all there", applied: [(1, 1), (2, 2)], known: [1, 2], code: nil),
        Verdict(testDescription: "newer and compatible", applied: [(1, 1), (2, 1)], known: [1], code: nil),
        Verdict(
            testDescription: "not compatible, whatever a later one says",
            applied: [(1, 1), (2, 2), (3, 1)],
            known: [1],
            code: .databaseTooNew
        ),
        Verdict(
            testDescription: "newer and not compatible",
            applied: [(1, 1), (2, 2)],
            known: [1],
            code: .databaseTooNew
        ),
        Verdict(
            testDescription: "compatible with the one between",
            applied: [(1, 1), (2, 2), (3, 2)],
            known: [1, 2],
            code: nil
        ),
    ]

    @Test("A program starts only on a schema that it can work with", arguments: verdicts)
    func check(_ verdict: Verdict) async throws {
        let applied = try verdict.applied.map { try migration($0.number, compatibleFrom: $0.compatibleFrom) }
        let known = try verdict.known.map { number in
            let same = verdict.applied.first { $0.number == number }
            return try migration(number, compatibleFrom: same?.compatibleFrom ?? 1)
        }
        try await withDatabase { database in
            if !applied.isEmpty { _ = try await Migrator(migrations: applied).migrate(database) }
            let migrator = try Migrator(migrations: known)
            guard let code = verdict.code else { return try await migrator.check(database) }
            let error = await #expect(throws: MigrationError.self) { try await migrator.check(database) }
            #expect(error?.code == code)
            if code == .databaseTooNew {
                // A program that is too old must not touch the schema either.
                await #expect(throws: MigrationError.self) { try await migrator.migrate(database) }
            }
        }
    }

    @Test("A migration whose text has changed since it was applied is refused")
    func checksum() async throws {
        try await withDatabase { database in
            _ = try await migrator(try migration(1, "SELECT 1;")).migrate(database)
            let edited = try migrator(try migration(1, "SELECT 2;"))
            let error = await #expect(throws: MigrationError.self) { try await edited.check(database) }
            #expect(error?.code == .checksumMismatch)
            await #expect(throws: MigrationError.self) { try await edited.migrate(database) }
        }
    }

    @Test("A database from before the baseline is refused, with a message that says what to do")
    func beforeBaseline() async throws {
        try await withDatabase { database in
            let text = Array("-- version: 1\n-- compatible_from: 1\nCREATE TABLE a (n int);\n".utf8)
            let old = try Migration(number: 1, name: "initial", sql: text)
            _ = try await migrator(old, try migration(2, "CREATE TABLE b (n int);")).migrate(database)
            // Its text may be the same; the name tells it from a migration that was edited.
            let baseline = try migrator(try Migration(number: 1, name: "registry", sql: text))
            for attempt in [baseline.check, { _ = try await baseline.migrate($0) }] {
                let error = await #expect(throws: MigrationError.self) { try await attempt(database) }
                #expect(error?.code == .beforeBaseline)
                #expect(error?.message.contains("create an empty database") == true)
            }
            let rows = try await database.query("SELECT count(*) FROM schema_migrations")
            #expect(try rows.first(as: Int.self) == 2)
        }
    }

    @Test("A gap in what was applied is refused")
    func gap() async throws {
        try await withDatabase { database in
            _ = try await migrator(try migration(1), try migration(2)).migrate(database)
            try await database.execute("DELETE FROM schema_migrations WHERE number = 1")
            let error = await #expect(throws: MigrationError.self) {
                try await migrator(try migration(1), try migration(2)).migrate(database)
            }
            #expect(error?.code == .outOfOrder)
        }
    }

    @Test("A database that is away is not taken for an old one")
    func away() async throws {
        var configuration = Database.Configuration()
        configuration.acquireTimeout = .seconds(6)
        let database = try Database(url: "host=/nowhere user=x dbname=x", configuration: configuration)
        let error = await #expect(throws: MigrationError.self) { try await migrator(migration(1)).check(database) }
        #expect(error?.code == .unreachable)
    }

    @Test(
        "A file without its two comments is refused",
        arguments: [
            "", "CREATE TABLE a (n int);", "-- version: 1\n", "-- version: x\n-- compatible_from: 1\n",
            "-- version: 1\n-- compatible_from: 2\n", "-- version: 0\n-- compatible_from: 0\n",
            "SELECT 1;\n-- version: 1\n-- compatible_from: 1\n",
        ]
    )
    func header(_ text: String) {
        let error = #expect(throws: MigrationError.self) {
            try Migration(number: 1, name: "a", sql: Array(text.utf8))
        }
        #expect(error?.code == .malformed)
    }

    @Test("Numbers begin at 1 and have no gaps")
    func numbers() throws {
        let steps = [try migration(1), try migration(3)]
        #expect(throws: MigrationError.self) { try Migrator(migrations: steps) }
        #expect(throws: MigrationError.self) { try Migrator(migrations: [steps[1]]) }
        _ = try Migrator(migrations: [])
    }
}
