import Postgres
import TestSupport
import Testing

@Suite("The pool under trouble", .timeLimit(.minutes(3)))
struct PoolStressTests {
    private struct Mistake: Error {}

    private enum Trouble: Int, CaseIterable { case none, failure, thrown, killed, cancelled, timedOut, leftOpen }

    /// One unit of work, which transfers 1 between two rows, or fails in its own way.
    private func work(_ trouble: Trouble, _ database: Database) async throws {
        if trouble == .leftOpen {
            return try await database.withConnection { _ = try await $0.execute("BEGIN") }
        }
        try await database.withTransaction { connection in
            // In the order of the rows, so that no two wait for each other.
            try await connection.execute("UPDATE accounts SET balance = balance - 1 WHERE id = 1")
            switch trouble {
            case .none, .leftOpen: break
            case .failure: _ = try await connection.query("SELECT 1/0")
            case .thrown: throw Mistake()
            case .killed: _ = try await connection.query("SELECT pg_terminate_backend(pg_backend_pid())")
            case .cancelled:
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await connection.query("SELECT pg_sleep(600)")
            case .timedOut: _ = try await connection.query("SELECT pg_sleep(600)", timeout: .milliseconds(1))
            }
            try await connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 2")
        }
    }

    @Test("Every kind of failure, many at once, leaves the data and the pool in order")
    func everything() async throws {
        var configuration = Database.Configuration()
        configuration.maximumConnections = 4
        configuration.acquireTimeout = .seconds(60)
        try await withDatabase(configuration: configuration) { database in
            try await database.withConnection { connection in
                try await connection.executeScript(
                    """
                    CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL);
                    INSERT INTO accounts VALUES (1, 1000), (2, 0);
                    """
                )
            }
            let done = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<350 {
                    let trouble = Trouble(rawValue: number % Trouble.allCases.count) ?? .none
                    group.addTask {
                        do {
                            try await work(trouble, database)
                            return trouble == .none
                        } catch {
                            return false
                        }
                    }
                }
                var done = 0
                for await isDone in group where isDone { done += 1 }
                return done
            }
            #expect(done == 50)
            let balances = try await database.query("SELECT balance FROM accounts ORDER BY id").decoded(as: Int.self)
            #expect(balances == [1000 - done, done])
            let statistics = database.statistics
            #expect(statistics.waiting == 0)
            #expect(statistics.idle == statistics.connections)
            #expect(statistics.connections <= 4)
        }
    }
}
