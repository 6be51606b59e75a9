import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("Transactions", .timeLimit(.minutes(2)))
struct TransactionTests {
    private struct Mistake: Error {}

    private func withNumbers(_ body: (Database) async throws -> Void) async throws {
        try await withDatabase { database in
            try await database.execute("CREATE TABLE numbers (n int PRIMARY KEY)")
            try await body(database)
        }
    }

    /// Runs a statement, or lets the transaction end with it.
    private func run(_ query: Query, on connection: PostgresConnection, withCommit: Bool) async throws {
        if withCommit { _ = try await connection.commit([query]) } else { try await connection.execute(query) }
    }

    private func numbers(_ database: Database) async throws -> [Int] {
        try await database.query("SELECT n FROM numbers ORDER BY n").decoded(as: Int.self)
    }

    @Test("What the body did is there when it returns, with its result")
    func commit() async throws {
        try await withNumbers { database in
            let result = try await database.withTransaction { connection in
                try await connection.execute("INSERT INTO numbers VALUES (1)")
                try await connection.execute("INSERT INTO numbers VALUES (2)")
                return "done"
            }
            #expect(result == "done")
            #expect(try await numbers(database) == [1, 2])
        }
    }

    @Test("What the body did is undone when it throws, and the connection goes back to the pool")
    func rollback() async throws {
        try await withNumbers { database in
            await #expect(throws: Mistake.self) {
                try await database.withTransaction { connection in
                    try await connection.execute("INSERT INTO numbers VALUES (1)")
                    throw Mistake()
                }
            }
            let kept = try await numbers(database)
            #expect(kept.isEmpty)
            #expect(database.statistics.idle == 1)
        }
    }

    @Test("A transaction can end with its last statements: all of it is kept, or none")
    func commitWith() async throws {
        try await withNumbers { database in
            let rows = try await database.withTransaction { connection in
                try await connection.execute("INSERT INTO numbers VALUES (1)")
                return try await connection.commit(["INSERT INTO numbers VALUES (2) RETURNING n", "SELECT 7"])
            }
            #expect(try rows.map { try $0.decoded(as: Int32.self) } == [[2], [7]])
            let alone = try await database.withTransaction { try await $0.commit(["INSERT INTO numbers VALUES (3)"]) }
            #expect(alone.count == 1)
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    try await connection.execute("INSERT INTO numbers VALUES (4)")
                    _ = try await connection.commit([
                        "INSERT INTO numbers VALUES (5)", "INSERT INTO numbers VALUES (1)",
                    ])
                }
            }
            #expect(error?.sqlState == "23505")
            #expect(error?.statement == 1)
            #expect(try await numbers(database) == [1, 2, 3])
            #expect(database.statistics.idle == 1)
        }
    }

    @Test("Last statements that fail are undone at once: the connection takes the next transaction")
    func afterFailure() async throws {
        try await withNumbers { database in
            try await database.withConnection { connection in
                try await connection.execute("INSERT INTO numbers VALUES (1)")
                await #expect(throws: PostgresError.self) {
                    try await connection.withTransaction { connection in
                        try await connection.execute("INSERT INTO numbers VALUES (2)")
                        _ = try await connection.commit(["INSERT INTO numbers VALUES (1)"])
                    }
                }
                try await connection.withTransaction { _ = try await $0.execute("INSERT INTO numbers VALUES (3)") }
            }
            #expect(try await numbers(database) == [1, 3])
        }
    }

    @Test("A failed statement whose error is swallowed still undoes everything, and is told", arguments: [false, true])
    func aborted(withLast: Bool) async throws {
        try await withNumbers { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    try await connection.execute("INSERT INTO numbers VALUES (1)")
                    // Swallowed on purpose.
                    _ = try? await connection.execute("SELECT 1/0")
                    if withLast { _ = try await connection.commit([]) }
                }
            }
            #expect(error?.code == .transactionAborted)
            let kept = try await numbers(database)
            #expect(kept.isEmpty)
        }
    }

    @Test("The first statement fails together with BEGIN, and is the first of the caller's")
    func firstFails() async throws {
        try await withNumbers { database in
            try await database.withConnection { connection in
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.withTransaction { _ = try await $0.pipeline(["SELECT 1", "SELECT 1/0"]) }
                }
                #expect(error?.statement == 1)
                #expect(error?.sqlState == "22012")
                try await connection.withTransaction { _ = try await $0.execute("INSERT INTO numbers VALUES (1)") }
            }
            #expect(try await numbers(database) == [1])
        }
    }

    @Test("A constraint that is checked at COMMIT fails the transaction by its name", arguments: [false, true])
    func deferredConstraint(withLast: Bool) async throws {
        try await withNumbers { database in
            try await database.execute(
                "CREATE TABLE others (n int CONSTRAINT known REFERENCES numbers DEFERRABLE INITIALLY DEFERRED)"
            )
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    try await run("INSERT INTO others VALUES (7)", on: connection, withCommit: withLast)
                }
            }
            #expect(error?.code == .server)
            #expect(error?.constraint == "known")
        }
    }

    @Test("A connection that breaks during COMMIT leaves the outcome unknown, and says so", arguments: [false, true])
    func commitUnknown(withLast: Bool) async throws {
        try await withNumbers { database in
            // The connection breaks in the middle of COMMIT, when constraints are checked.
            try await database.withConnection { connection in
                try await connection.executeScript(
                    """
                    CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS
                        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                    CREATE CONSTRAINT TRIGGER break AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION break();
                    """
                )
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    try await run("INSERT INTO numbers VALUES (1)", on: connection, withCommit: withLast)
                }
            }
            #expect(error?.code == .commitUnknown)
            let kept = try await numbers(database)
            #expect(kept.isEmpty)
        }
    }

    @Test(
        "A connection that breaks before COMMIT has certainly undone everything, even if the body returned",
        arguments: [false, true]
    )
    func brokenBefore(withLast: Bool) async throws {
        try await withNumbers { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    try await connection.execute("INSERT INTO numbers VALUES (1)")
                    // Swallowed on purpose.
                    _ = try? await connection.query("SELECT pg_terminate_backend(pg_backend_pid())")
                    if withLast { _ = try await connection.commit(["INSERT INTO numbers VALUES (2)"]) }
                }
            }
            #expect(error?.code == .connectionLost)
            let kept = try await numbers(database)
            #expect(kept.isEmpty)
        }
    }

    @Test(
        "A task that is cancelled between its statements undoes them and keeps the connection",
        arguments: [false, true]
    )
    func cancelled(withLast: Bool) async throws {
        try await withNumbers { database in
            let task = Task {
                try await database.withTransaction { connection in
                    try await connection.execute("INSERT INTO numbers VALUES (1)")
                    withUnsafeCurrentTask { $0?.cancel() }
                    if withLast { _ = try await connection.commit(["INSERT INTO numbers VALUES (2)"]) }
                }
            }
            let error = await #expect(throws: PostgresError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            let kept = try await numbers(database)
            #expect(kept.isEmpty)
            #expect(database.statistics.connections == 1)
        }
    }

    @Test("A transaction without statements costs nothing, and one inside another is refused")
    func edges() async throws {
        try await withNumbers { database in
            try await database.withConnection { connection in
                try await connection.withTransaction { _ in }
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.withTransaction { try await $0.withTransaction { _ in } }
                }
                #expect(error?.code == .misuse)
                let level = try await connection.withTransaction(.serializable) { connection in
                    try await connection.query("SHOW transaction_isolation").first(as: String.self)
                }
                #expect(level == "serializable")
                let readOnly = await #expect(throws: PostgresError.self) {
                    try await connection.withTransaction(.readOnly) { _ = try await $0.execute("DELETE FROM numbers") }
                }
                #expect(readOnly?.sqlState == "25006")
            }
        }
    }

    @Test("A script that ends the transaction it runs in is refused")
    func scriptEndsTransaction() async throws {
        try await withNumbers { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.withTransaction { connection in
                    try await connection.executeScript("INSERT INTO numbers VALUES (1); COMMIT")
                }
            }
            #expect(error?.code == .misuse)
        }
    }
}
