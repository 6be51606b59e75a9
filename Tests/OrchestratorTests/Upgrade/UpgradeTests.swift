import APITypes
import ActivityModel
import Cryptography
import Logging
import OrchestratorTestSupport
import Postgres
import Schema
import Synchronization
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

/// A database that programs of an older version have filled is migrated while they go on, and serves this version then.
@Suite("Upgrades", .serialized, .timeLimit(.minutes(5)))
struct UpgradeTests {
    private static let migrations = Result {
        try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
    }
    private static let masterKeys = MasterKeys(.generate())

    @Test("since the baseline lose nothing, and the promises hold after them", arguments: SchemaRelease.all)
    func upgrade(from release: SchemaRelease) async throws {
        let migrations = try Self.migrations.get()
        try await withDatabase { database in
            try await fill(database, migrations, upTo: release.version)
            let before = try await rowCounts(database)
            let older = OlderProgram(release: release, database: database)
            let changes = try await older.run {
                // A program goes on as long as no migration leaves it behind; then it is stopped.
                let compatible = migrations.prefix { $0.compatibleFrom <= release.version }
                _ = try await Migrator(migrations: Array(compatible)).migrate(database)
            }
            _ = try await Migrator(migrations: migrations).migrate(database)
            for (table, count) in try await rowCounts(database) {
                #expect(count >= before[table] ?? 0, "\(table) has lost rows")
            }
            if release.version == migrations.last?.version { try await expectRowsEverywhere(database) }
            try await expectPromises(database, loadedWith: changes)
        }
    }

    @Test("is tried from every version of the schema")
    func completeness() throws {
        // The files of the baseline lead to one version.
        #expect(SchemaRelease.all.map(\.version) == Set(try Self.migrations.get().map(\.version)).sorted())
    }

    /// A schema of a version with what its programs and those before it have written.
    private func fill(_ database: Database, _ migrations: [Migration], upTo version: Int) async throws {
        for release in SchemaRelease.all where release.version <= version {
            _ = try await Migrator(migrations: Array(migrations.prefix { $0.version <= release.version }))
                .migrate(database)
            if release.version == 1 { try await writeApp(database) }
            try await database.withConnection { try await $0.executeScript(release.rows) }
        }
    }

    private func writeApp(_ database: Database) async throws {
        let app = BundleID(stored: "com.example.app")
        let pem = try P256PrivateKey.generate().pem()
        let sealed = try SecretSeal.signingKey(app, .production).seal(Array(pem.utf8), under: Self.masterKeys)
        _ = try await database.pipeline([
            "INSERT INTO apps (bundle_id, team_id) VALUES (\(app.rawValue), 'ABCDE12345')",
            """
            INSERT INTO signing_keys (bundle_id, environment, key_id, private_key_sealed)
            VALUES (\(app.rawValue), 'production', 'KEY1234567', \(sealed))
            """,
        ])
    }

    // MARK: Tables

    private func rowCounts(_ database: Database) async throws -> [String: Int64] {
        let tables = try await database.query(
            """
            SELECT c.relname::text FROM pg_class AS c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            """
        ).decoded(as: String.self)
        var counts: [String: Int64] = [:]
        for table in tables {
            counts[table] = try await database.query("SELECT count(*) FROM \(identifier: table)").single(Int64.self)
        }
        return counts
    }

    private func expectRowsEverywhere(_ database: Database) async throws {
        let empty = try await rowCounts(database).filter { $0.value == 0 }.keys.sorted()
        #expect(empty == [], "what a release of the schema brings needs rows in SchemaRelease")
    }

    // MARK: Promises

    private func expectPromises(_ database: Database, loadedWith changes: Int) async throws {
        let world = World(
            orchestrator: Orchestrator(
                database: database,
                sender: Recorder(),
                masterKeys: Self.masterKeys,
                settings: OrchestratorSettings(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ),
            app: BundleID(stored: "com.example.app")
        )
        let stamp = try await world.number("SELECT stamp FROM activities WHERE activity_id = 'running'") ?? 0
        try await world.withIntake {
            try await world.settle()
            // Promise 4: the barrier has a push of its own for whom the walk had not reached, and its alert once.
            #expect(world.recorder.pushes(to: "aa02").map(\.alert) == ["Messi", nil])
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [1, 2])
            #expect(world.recorder.pushes(to: "aa01").compactMap(\.alert) == [])
            // Promise 6: the claim of a dead daemon is repeated, on record; who was pending is started once.
            #expect(world.recorder.pushes(to: "5a04").map(\.event) == ["start"])
            #expect(world.recorder.pushes(to: "5a05").map(\.event) == ["start"])
            let repeated = "SELECT count(*) FROM starts WHERE attempts = 2"
            #expect(try await world.number(Query(unescaped: repeated)) == 1)
            // Promise 1: what was scheduled happens, and a key that was used is answered as it was.
            try await world.runSchedules(all: false)
            let key = IdempotencyKey(
                apiKeyID: "backend",
                app: world.app,
                method: "POST",
                path: "/updates",
                key: "goal",
                bodyHash: [0xAB]
            )
            #expect(try await world.update("running", score: 9, key: key).revision == 2)
            // Promise 7: the newest state goes out the moment that the token is registered.
            try await world.follow("d3", token: "aa03", in: "running")
            try await world.settle()
            try await world.pass(11)
            try await world.settle()
        }
        // Promises 2, 3 and 5.
        for token in ["aa01", "aa02", "aa03", "aa06"] {
            let last = try #require(world.recorder.pushes(to: token).last)
            #expect(last.score == 3, "\(token)")
            #expect(last.timestamp > stamp)
        }
        #expect(world.recorder.pushes(to: "channel1").last?.score == 1)
        #expect(world.recorder.pushes(to: "aa07").map(\.event) == ["end"])
        // What the older program has accepted meanwhile reaches the one that rode and the one that joined.
        #expect(try await world.show("loaded").revision == Int64(changes) + 1)
        for token in ["aa08", "aa09"] where changes > 0 {
            #expect(world.recorder.pushes(to: token).last?.score == Int64(changes), "\(token)")
        }
    }
}

extension SchemaRelease: CustomTestStringConvertible {
    var testDescription: String { "from version \(version)" }
}

/// A program of an older version, as far as the database sees it: it runs the statements of its version and of those
/// before.
private struct OlderProgram: Sendable {
    let release: SchemaRelease
    let database: Database

    /// Runs beside `body`, at least one round before, during and after it.
    ///
    /// - Returns: How many changes were accepted.
    /// - Throws: What a statement threw that the migrations should not have touched.
    func run(beside body: @escaping @Sendable () async throws -> Void) async throws -> Int {
        let isStopped = Flag()
        let statements = SchemaRelease.all.filter { $0.version <= release.version }.flatMap(\.load)
        try await round(statements)
        return try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var count = 1
                while !isStopped.isSet {
                    try await round(statements)
                    count += 1
                    // The pace of a small backend: other tests want the machine, too.
                    try await Task.sleep(for: .milliseconds(5))
                }
                try await round(statements)
                return count + 1
            }
            do {
                try await body()
                isStopped.set()
            } catch {
                isStopped.set()
                throw error
            }
            return try await group.next() ?? 0
        }
    }

    private func round(_ statements: [String]) async throws {
        for statement in statements { try await database.execute(Query(unescaped: statement)) }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}
