import LocalPostgres
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Postgres

@Suite("The pool against a server", .timeLimit(.minutes(3)))
struct PoolTests {
    private func configuration(_ change: (inout Database.Configuration) -> Void) -> Database.Configuration {
        var configuration = Database.Configuration.patient
        change(&configuration)
        return configuration
    }

    @Test("More callers than connections are all served, and no more connections are made than allowed")
    func contention() async throws {
        let waits = Atomic(0)
        let configuration = configuration {
            $0.maximumConnections = 3
            $0.waited = { wait in if wait >= .zero { waits.add(1, ordering: .relaxed) } }
        }
        try await withDatabase(configuration: configuration) { database in
            let processes = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<200 {
                    group.addTask {
                        try await database.withConnection { connection in
                            _ = try await connection.query("SELECT pg_sleep(0.001)")
                            return connection.processID
                        }
                    }
                }
                var processes: Set<Int32> = []
                for try await process in group { processes.insert(process) }
                return processes
            }
            #expect((1...3).contains(processes.count))
            #expect(waits.load(ordering: .relaxed) == 200)
            #expect(database.statistics.idle == database.statistics.connections)
            #expect(database.statistics.waiting == 0)
        }
    }

    @Test("One who cannot get a connection in time is told so, and the others are not disturbed")
    func exhausted() async throws {
        let configuration = configuration {
            $0.maximumConnections = 1
            $0.acquireTimeout = .seconds(10)
        }
        try await withDatabase(configuration: configuration) { database in
            try await database.withConnection { connection in
                let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
                #expect(error?.code == .poolExhausted)
                let one = try await connection.query("SELECT 1").first(as: Int.self)
                #expect(one == 1)
            }
            let one = try await database.query("SELECT 1").first(as: Int.self)
            #expect(one == 1)
        }
    }

    @Test("A caller that is cancelled while it waits leaves the queue")
    func cancelledWaiting() async throws {
        try await withDatabase(configuration: configuration { $0.maximumConnections = 1 }) { database in
            try await database.withConnection { connection in
                let waiting = Task { try await database.query("SELECT 1") }
                while database.statistics.waiting == 0 { await Task.yield() }
                waiting.cancel()
                let error = await #expect(throws: PostgresError.self) { try await waiting.value }
                #expect(error?.code == .cancelled)
                #expect(database.statistics.waiting == 0)
                _ = try await connection.query("SELECT 1")
            }
        }
    }

    @Test("A connection that broke in use is replaced")
    func broken() async throws {
        try await withDatabase(configuration: configuration { $0.maximumConnections = 1 }) { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.query("SELECT pg_terminate_backend(pg_backend_pid())")
            }
            #expect(error?.code == .connectionLost)
            #expect(error?.sqlState == "57P01")
            #expect(database.statistics.connections == 0)
            let one = try await database.query("SELECT 1").first(as: Int.self)
            #expect(one == 1)
        }
    }

    @Test("A connection that broke at rest is replaced before anybody sees it")
    func brokenAtRest() async throws {
        try await withDatabase { database in
            let first = try await database.withConnection { $0.processID }
            try await TestCluster.shared.terminate(first)
            let second = try await database.withConnection { connection in
                _ = try await connection.query("SELECT 1")
                return connection.processID
            }
            #expect(first != second)
        }
    }

    @Test("A transaction that was left open is not handed to the next one")
    func leftOpen() async throws {
        try await withDatabase { database in
            let first = try await database.withConnection { connection in
                try await connection.execute("BEGIN")
                return connection.processID
            }
            #expect(database.statistics.connections == 0)
            let second = try await database.withConnection { $0.processID }
            #expect(first != second)
        }
    }

    @Test("A connection is worth nothing after its loan")
    func afterTheLoan() async throws {
        try await withDatabase { database in
            var kept: PostgresConnection?
            try await database.withConnection { connection in
                _ = try await connection.query("SELECT 1")
                kept = connection
            }
            let error = await #expect(throws: PostgresError.self) { try await kept?.query("SELECT 1") }
            #expect(error?.code == .closed)
        }
    }

    @Test("While the whole pool is in use, one can still look how the database is")
    func look() async throws {
        try await withDatabase(configuration: configuration { $0.maximumConnections = 1 }) { database in
            try await database.withConnection { connection in
                let own = connection.processID
                let looked = try await database.look("SELECT pg_backend_pid()", within: .seconds(30)).first(
                    as: Int32.self
                )
                #expect(looked != nil && looked != own)
                #expect(database.statistics.connections == 1)
            }
            await database.shutDown()
            let error = await #expect(throws: PostgresError.self) {
                try await database.look("SELECT 1", within: .seconds(30))
            }
            #expect(error?.code == .closed)
        }
    }

    @Test("Who does not wait for a database that the server does not have is told at once; others wait")
    func lastingRefusal() async throws {
        let database = try Database(
            url: try await TestCluster.shared.url(database: "absent"),
            configuration: configuration {
                $0.endsAtRefusal = true
                $0.acquireTimeout = .seconds(170)
            }
        )
        let began = ContinuousClock.now
        let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
        #expect(error?.code == .unreachable)
        #expect(error?.sqlState == "3D000")
        #expect(error?.message?.contains("\"absent\" does not exist") == true)
        #expect(error?.message?.contains("LOCATION") == false)
        #expect(began.duration(to: .now) < .seconds(120))
        #expect(database.statistics.connections == 0)
    }

    @Test(
        "Only a refusal that time does not mend is one",
        arguments: [
            ("28P01", true), ("28000", true), ("3D000", true), ("57P03", false), ("53300", false), (nil, false),
        ]
            as [(String?, Bool)]
    )
    func refusals(state: String?, isLasting: Bool) {
        #expect(PostgresError(.unreachable, sqlState: state).isLastingRefusal == isLasting)
        #expect(!PostgresError(.server, sqlState: state).isLastingRefusal)
    }

    @Test("A server that is not there is an error within the deadline, with the reason")
    func unreachable() async throws {
        let database = try Database(
            url: "host=/nowhere user=x dbname=x",
            configuration: configuration { $0.acquireTimeout = .seconds(6) }
        )
        let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
        #expect(error?.code == .unreachable)
        #expect(error?.message?.contains("/nowhere") == true)
        #expect(database.statistics.connections == 0)
    }

    @Test("A database that does not exist is an error with the server's reason")
    func absentDatabase() async throws {
        let database = try Database(
            url: try await TestCluster.shared.url(database: "absent"),
            // Long enough for one attempt on a machine that is busy with all the other tests.
            configuration: configuration { $0.acquireTimeout = .seconds(15) }
        )
        let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
        #expect(error?.code == .unreachable)
        #expect(error?.message?.contains("\"absent\" does not exist") == true)
    }

    @Test("After the shutdown nothing is lent, and loans may end before")
    func shutdown() async throws {
        try await withDatabase { database in
            let lent = AsyncStream.makeStream(of: Void.self)
            let goOn = AsyncStream.makeStream(of: Void.self)
            let loan = Task {
                try await database.withConnection { connection in
                    lent.continuation.finish()
                    for await _ in goOn.stream {}
                    return try await connection.query("SELECT 1").first(as: Int.self)
                }
            }
            for await _ in lent.stream {}
            let shutdown = Task { await database.shutDown() }
            var refused: PostgresError?
            while refused == nil {
                do throws(PostgresError) { _ = try await database.query("SELECT 1") } catch { refused = error }
            }
            #expect(refused?.code == .closed)
            goOn.continuation.finish()
            let one = try await loan.value
            #expect(one == 1)
            await shutdown.value
            #expect(database.statistics.connections == 0)
        }
    }

    @Test("As a service it tries resting connections and ends in order")
    func service() async throws {
        let configuration = configuration { $0.keepAliveInterval = .milliseconds(20) }
        try await withDatabase(configuration: configuration) { database in
            let first = try await database.withConnection { $0.processID }
            try await TestCluster.shared.terminate(first)
            let service: any Service = database
            let running = Task { try await service.run() }
            while database.statistics.connections > 0 { await Task.yield() }
            running.cancel()
            try await running.value
            let error = await #expect(throws: PostgresError.self) { try await database.query("SELECT 1") }
            #expect(error?.code == .closed)
        }
    }

    @Test("Each connection tells the server when to give up on us, and to read by index")
    func sessionSettings() async throws {
        try await withDatabase { database in
            let rows = try await database.pipeline([
                "SHOW idle_in_transaction_session_timeout", "SHOW client_connection_check_interval",
                "SHOW application_name", "SHOW client_encoding", "SHOW enable_seqscan", "SHOW jit",
                "SHOW max_parallel_workers_per_gather",
            ])
            #expect(try rows.map { try $0.first(as: String.self) } == ["9s", "1s", "tally", "UTF8", "off", "off", "0"])
        }
    }

    @Test("Time limits of the role or the database do not end Tally's statements: each has a deadline of its own")
    func limitsOfTheRole() async throws {
        let limits = ["statement_timeout", "lock_timeout", "idle_session_timeout"].map { "-c%20\($0)%3D7s" }
        let database = try Database(
            url: try await TestCluster.shared.url() + "?options=" + limits.joined(separator: "%20"),
            configuration: configuration { _ in }
        )
        let rows = try await database.pipeline([
            "SHOW statement_timeout", "SHOW lock_timeout", "SHOW idle_session_timeout",
        ])
        #expect(try rows.map { try $0.first(as: String.self) } == ["0", "0", "0"])
        await database.shutDown()
    }

    @Test("The server ends a transaction in which nothing happens, so that its locks are free")
    func idleInTransaction() async throws {
        let configuration = configuration { $0.idleInTransactionTimeout = .milliseconds(50) }
        try await withDatabase(configuration: configuration) { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    _ = try await connection.query("SELECT 1")
                    try await TestCluster.shared.waitForEnd(of: connection.processID)
                    _ = try await connection.query("SELECT 1")
                }
            }
            #expect(error?.code == .connectionLost)
            #expect(error?.sqlState == "25P03")
        }
    }
}
