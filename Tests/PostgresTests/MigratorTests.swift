import Postgres
import TestSupport
import Testing

@Suite("Migrations", .timeLimit(.minutes(2)))
struct MigratorTests {
    private func migrator(_ migrations: Migration...) throws -> Migrator {
        try Migrator(migrations: migrations)
    }

    @Test("Each is applied once, in order, and recorded")
    func apply() async throws {
        let first = try migration(1, "CREATE TABLE a (n int); INSERT INTO a VALUES (1);")
        let second = try migration(2, compatibleFrom: 2, "ALTER TABLE a ADD COLUMN m int; UPDATE a SET m = n + 1;")
        try await withDatabase { database in
            let error = await #expect(throws: MigrationError.self) { try await migrator(first).check(database) }
            #expect(error?.code == .databaseTooOld)
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

    @Test("One that finds its own parts there says that the rows of the migrations are wrong")
    func doneBefore() async throws {
        let step = try migration(1, "CREATE TABLE a (n int);")
        try await withDatabase { database in
            _ = try await migrator(step).migrate(database)
            try await database.execute("DELETE FROM schema_migrations")
            let error = await #expect(throws: MigrationError.self) { try await migrator(step).migrate(database) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("is there already") == true)
            #expect(error?.message.contains("schema_migrations") == true)
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

    @Test("A gap in what was applied is refused")
    func gap() async throws {
        try await withDatabase { database in
            _ = try await migrator(try migration(1), try migration(2)).migrate(database)
            try await database.execute("DELETE FROM schema_migrations WHERE number = 1")
            let both = try migrator(try migration(1), try migration(2))
            for attempt in [both.check, { _ = try await both.migrate($0) }] {
                let error = await #expect(throws: MigrationError.self) { try await attempt(database) }
                #expect(error?.code == .outOfOrder)
            }
        }
    }

    @Test("A database that is not UTF-8 is refused, with the command that makes another")
    func encoding() async throws {
        let name = "migrator_latin1"
        let one = try migrator(try migration(1, "CREATE TABLE a (n int);"))
        try await withDatabase { database in
            try await database.execute(
                "CREATE DATABASE \(identifier: name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
            )
            let latin = try Database(url: try await TestCluster.shared.url(database: name))
            for attempt in [one.check, { _ = try await one.migrate($0) }] {
                let error = await #expect(throws: MigrationError.self) { try await attempt(latin) }
                #expect(error?.code == .wrongEncoding)
                #expect(error?.message.contains("LATIN1") == true)
                #expect(error?.message.contains("createdb --encoding UTF8 --template template0") == true)
            }
            let isEmpty = try await latin.query("SELECT to_regclass('schema_migrations') IS NULL").first(as: Bool.self)
            #expect(isEmpty == true)
            await latin.shutDown()
            try await database.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
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

/// A step whose version is its number.
func migration(_ number: Int, compatibleFrom: Int = 1, _ sql: String = "") throws -> Migration {
    let text = "-- version: \(number)\n-- compatible_from: \(compatibleFrom)\n\(sql)\n"
    return try Migration(number: number, name: "step_\(number)", sql: Array(text.utf8))
}
