import Glibc
import LocalPostgres
import Logging
package import Postgres
import Synchronization

/// The one private PostgreSQL server of this test process: started when the first test asks for it, stopped at the end
/// of the process, its data removed then.
package final class TestCluster: Sendable {
    private static let starting = Task { try await TestCluster() }
    private static let running = Mutex<TestCluster?>(nil)
    private static let parents = (inMemory: "/dev/shm", onDisk: "/var/tmp")
    /// The folder for the data: in memory if there is room. Emptying a database takes an eighth of the time there.
    private static let parent = hasRoom(parents.inMemory) ? parents.inMemory : parents.onDisk
    private static let prefix = "tally-tests-"

    /// The cluster; the first call takes about a second.
    package static var shared: TestCluster {
        get async throws { try await starting.value }
    }

    private let server: LocalCluster
    private let administrator: Database
    private let databases = Atomic<Int>(0)
    private let templates = Templates()
    private let spare = SpareDatabases()

    private init() async throws {
        for parent in [Self.parents.inMemory, Self.parents.onDisk] {
            await LocalCluster.removeAbandoned(in: parent, prefix: Self.prefix)
        }
        var options = LocalCluster.Options(folder: "\(Self.parent)/\(Self.prefix)\(getpid())")
        options.isDurable = false
        options.maximumConnections = 400
        options.settings["max_wal_size"] = "512MB"
        server = try await LocalCluster(options)
        try await server.start()
        // Many tests ask at the same moment, and making a database is work for the disk: few at a time, and patience.
        var configuration = Database.Configuration()
        configuration.maximumConnections = 4
        configuration.acquireTimeout = .seconds(300)
        configuration.statementTimeout = .seconds(120)
        administrator = try Database(
            url: server.connectionString(),
            configuration: configuration,
            logger: Self.silence
        )
        Self.running.withLock { $0 = self }
        // No test is the last one that knows of it: only the end of the process is. A process that is killed takes the
        // server with it, and the next one removes the data.
        atexit {
            let cluster = TestCluster.running.withLock { $0.take() }
            cluster?.server.stopAtExit()
            cluster?.server.removeData()
        }
    }

    /// Whether the data of all clusters fit there that may run at once: at most two for each processor. With its log of
    /// writes, a cluster takes up to a gigabyte.
    private static func hasRoom(_ folder: String) -> Bool {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return false }
        let clusters = 2 * UInt64(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1))
        return UInt64(status.f_bavail) * UInt64(status.f_frsize) >= clusters << 30
    }

    /// What the server says.
    var log: String { "\(Self.parent)/\(Self.prefix)\(getpid())/server.log" }

    /// What libpq takes to connect, as superuser.
    package func url(database: String = "postgres") -> String {
        server.connectionString(database: database)
    }

    /// Lends an empty database, which the next test gets if this one changes no more of it than rows.
    package func withDatabase<R>(
        migrations: [Migration],
        configuration: Database.Configuration,
        _ body: (Database) async throws -> R
    ) async throws -> R {
        let template = try await templates.template(for: migrations) { name in
            try await self.makeTemplate(name, migrations)
        }
        let name = try await emptyDatabase(of: template)
        let database = try Database(
            url: url(database: name),
            configuration: configuration,
            logger: Self.silence
        )
        let result: Result<R, any Error>
        do {
            result = .success(try await body(database))
        } catch {
            result = .failure(error)
        }
        await database.shutDown()
        // In a task of its own: a test that ran out of time is cancelled, and its database is to be cleared nevertheless.
        try await Task { try await self.takeBack(name, of: template) }.value
        return try result.get()
    }

    private func emptyDatabase(of template: Template) async throws -> String {
        if let name = spare.take(of: template.name) { return name }
        let name = "test_\(databases.add(1, ordering: .relaxed).newValue)"
        try await administrator.execute("CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: template.name)")
        return name
    }

    /// Empties a database for the next test, or drops it if a test has changed more of it than rows.
    private func takeBack(_ name: String, of template: Template) async throws {
        var configuration = Database.Configuration()
        configuration.maximumConnections = 1
        let database = try Database(url: url(database: name), configuration: configuration, logger: Self.silence)
        // A test may have dropped the database itself, or made it refuse connections.
        let left = try? await database.empty() ? DatabaseFingerprint(of: database) : nil
        await database.shutDown()
        if left == template.fingerprint {
            spare.keep(name, of: template.name)
        } else {
            _ = try await administrator.execute("DROP DATABASE IF EXISTS \(identifier: name) WITH (FORCE)")
        }
    }

    /// Ends a server process and waits until it is gone.
    package func terminate(_ processID: Int32) async throws {
        _ = try await administrator.query("SELECT pg_terminate_backend(\(processID), 20000)")
    }

    /// Waits until a server process is gone by itself, at most 20 s.
    package func waitForEnd(of processID: Int32) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        let query: Query = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(processID)"
        while ContinuousClock.now < deadline, try await administrator.query(query).first(as: Int.self) != 0 {}
    }

    private func makeTemplate(_ name: String, _ migrations: [Migration]) async throws -> DatabaseFingerprint {
        try await administrator.execute("CREATE DATABASE \(identifier: name)")
        let database = try Database(url: url(database: name), logger: Self.silence)
        if !migrations.isEmpty { _ = try await Migrator(migrations: migrations).migrate(database) }
        let fingerprint = try await DatabaseFingerprint(of: database)
        await database.shutDown()
        return fingerprint
    }

    private static let silence = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

/// What databases are copied from.
private struct Template: Sendable {
    let name: String
    let fingerprint: DatabaseFingerprint
}

/// One template per list of migrations, made once.
private actor Templates {
    private var templates: [[Migration]: Task<Template, any Error>] = [:]

    func template(
        for migrations: [Migration],
        make: @escaping @Sendable (String) async throws -> DatabaseFingerprint
    ) async throws -> Template {
        if let known = templates[migrations] { return try await known.value }
        let name = "template_\(templates.count + 1)"
        let task = Task { Template(name: name, fingerprint: try await make(name)) }
        templates[migrations] = task
        return try await task.value
    }
}

/// Lends an empty database of the process's private server, with the given migrations applied. Tests may run in
/// parallel.
///
/// - Parameters:
///   - migrations: applied once per list; each database is as after them.
///   - configuration: of the pool.
///   - body: gets the database, for as long as it runs.
/// - Returns: what `body` returns.
/// - Throws: what `body` throws, or what went wrong with the server.
package func withDatabase<R>(
    migrations: [Migration] = [],
    configuration: Database.Configuration = .patient,
    _ body: (Database) async throws -> R
) async throws -> R {
    try await TestCluster.shared.withDatabase(migrations: migrations, configuration: configuration, body)
}

extension Database.Configuration {
    /// As it comes, but with time to wait for a connection on a machine that is busy with other tests.
    package static var patient: Self {
        var configuration = Self()
        configuration.acquireTimeout = .seconds(60)
        return configuration
    }
}
