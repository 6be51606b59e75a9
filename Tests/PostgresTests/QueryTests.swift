import LibPQ
import Postgres
import TestSupport
import Testing

@Suite("Statements against a server", .timeLimit(.minutes(2)))
struct QueryTests {
    @Test("Interpolated values become numbered parameters, other text does not")
    func interpolation() {
        let none: String? = nil
        let query: Query =
            "SELECT \("a"), \(none), \([1, 2]) FROM \(identifier: "od\"d") ORDER BY \(unescaped: "1 DESC")"
        #expect(query.sql == #"SELECT $1, $2, $3 FROM "od""d" ORDER BY 1 DESC"#)
        #expect(query.statement.parameters.types == [25, 25, 1016])
        #expect(Query(unescaped: "SELECT 1") == "SELECT 1")
    }

    @Test("A part keeps its values, whatever comes before and behind it")
    func parts() async throws {
        let part: Query = "a AS (SELECT \("x")::text || \("y") || '$' AS word)"
        let query: Query =
            "WITH \(part: part), b AS (SELECT \("z")::text AS word) SELECT \(1)::int, a.word || b.word FROM a, b"
        #expect(query.sql.contains("b AS (SELECT $3::text AS word) SELECT $4::int"))
        let nested: Query = "SELECT \("first")::text, r.* FROM (\(part: query)) AS r"
        let row = try await withDatabase { database in
            try await database.query(nested).decoded(as: (String, Int32, String).self)[0]
        }
        #expect(row == ("first", 1, "xy$z"))
    }

    @Test("Rows come as they are given, whether a column travels as an array or as the one value that all have")
    func rows() async throws {
        func query(_ names: [String?], _ marks: [Bool]) -> Query {
            let rows: [RowColumn] = [
                .each("number", Array(0..<Int64(names.count))), .rarely("name", names), .usually(false, "mark", marks),
            ]
            return "SELECT u.number, u.name, u.mark FROM \(rows: rows) AS u ORDER BY u.number"
        }
        func seen(_ names: [String?], _ marks: [Bool]) async throws -> [[String]] {
            try await withDatabase { database in
                try await database.query(query(names, marks)).decoded(as: (Int64, String?, Bool).self)
                    .map { ["\($0)", $1 ?? "NULL", "\($2)"] }
            }
        }
        #expect(try await seen([nil, nil], [false, false]) == [["0", "NULL", "false"], ["1", "NULL", "false"]])
        #expect(try await seen([nil, "b"], [false, false]) == [["0", "NULL", "false"], ["1", "b", "false"]])
        #expect(try await seen(["a", nil], [true, false]) == [["0", "a", "true"], ["1", "NULL", "false"]])
        #expect(try await seen([nil, nil], [true, true]) == [["0", "NULL", "true"], ["1", "NULL", "true"]])
        #expect(try await seen([], []).isEmpty)
        #expect(query([nil, nil], [false, false]).sql == query([nil], [false]).sql)
    }

    @Test("Given rows are looked up by key, also by a plan that was made while the table was empty")
    func byKey() async throws {
        func mark(_ keys: [Int64]) -> Query {
            """
            UPDATE people AS p SET is_marked = true FROM unnest(\(keys)) AS r(key)
            WHERE \(unescaped: Query.byKey("p", "r", "key"))
            """
        }
        let counting: Query = """
            SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 FROM pg_stat_xact_user_tables WHERE relname = 'people'
            """
        try await withDatabase { database in
            try await database.withTransaction { connection in
                let results = try await connection.pipeline([
                    "CREATE TABLE people (key bigint PRIMARY KEY, is_marked boolean NOT NULL DEFAULT false)",
                    "ANALYZE people", .planningOnce, mark([]),
                    "INSERT INTO people (key) SELECT generate_series(1, 1000)", counting, mark([7, 70, 700]), counting,
                ])
                let (before, after) = (try results[5].decoded(as: Int64.self), try results[7].decoded(as: Int64.self))
                #expect(zip(before, after).map { $1 - $0 } == [3])
                let marked = try await connection.query("SELECT key FROM people WHERE is_marked ORDER BY key")
                #expect(try marked.decoded(as: Int64.self) == [7, 70, 700])
            }
        }
    }

    @Test("A refused statement tells the constraint and keeps the value to itself")
    func constraint() async throws {
        try await withDatabase { database in
            try await database.execute("CREATE TABLE people (name text CONSTRAINT one_of_each UNIQUE)")
            #expect(try await database.execute("INSERT INTO people VALUES (\("s3cret"))") == 1)
            let error = try #require(
                await #expect(throws: PostgresError.self) {
                    try await database.execute("INSERT INTO people VALUES (\("s3cret"))")
                }
            )
            #expect(error.code == .server)
            #expect(error.sqlState == "23505")
            #expect(error.constraint == "one_of_each")
            #expect(error.table == "people")
            #expect("\(error)" == "postgres: server 23505, table people, constraint one_of_each")
        }
    }

    @Test("A value that the server cannot read is not in the description; its message is for debugging only")
    func badValue() async throws {
        try await withDatabase { database in
            let error = try #require(
                await #expect(throws: PostgresError.self) { try await database.query("SELECT \("s3cret")::int") }
            )
            #expect(error.sqlState == "22P02")
            #expect(!"\(error)".contains("s3cret"))
            #expect(String(reflecting: error).contains("s3cret"))
        }
    }

    @Test("A wrong statement says what is wrong with it")
    func wrongStatement() async throws {
        try await withDatabase { database in
            let error = try #require(
                await #expect(throws: PostgresError.self) { try await database.query("SELECT * FROM nowhere") }
            )
            #expect("\(error)" == #"postgres: server 42P01: relation "nowhere" does not exist"#)
        }
    }

    @Test("A pipeline is one transaction; its failure names the statement")
    func pipeline() async throws {
        try await withDatabase { database in
            try await database.execute("CREATE TABLE numbers (n int)")
            let rows = try await database.pipeline([
                "INSERT INTO numbers VALUES (\(Int32(1))), (\(Int32(2)))", "SELECT sum(n) FROM numbers",
            ])
            #expect(rows[0].affectedRows == 2)
            #expect(try rows[1].first(as: Int.self) == 3)
            let error = await #expect(throws: PostgresError.self) {
                try await database.pipeline(["DELETE FROM numbers", "SELECT 1/0", "SELECT 1"])
            }
            #expect(error?.statement == 1)
            #expect(try await database.query("SELECT count(*) FROM numbers").first(as: Int.self) == 2)
        }
    }

    @Test("A statement prepared for a table goes on working when the table changes its shape")
    func stalePlan() async throws {
        try await withDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute("CREATE TABLE shapes (a int)")
                try await connection.execute("INSERT INTO shapes VALUES (1)")
                #expect(try await connection.query("SELECT * FROM shapes").columns == ["a"])
                try await connection.execute("ALTER TABLE shapes ADD COLUMN b int")
                #expect(try await connection.query("SELECT * FROM shapes").columns == ["a", "b"])
                try await connection.execute("DEALLOCATE ALL")
                #expect(try await connection.query("SELECT * FROM shapes").columns == ["a", "b"])
            }
        }
    }

    @Test("In a transaction a stale statement fails, and works the next time")
    func stalePlanInTransaction() async throws {
        try await withDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute("CREATE TABLE shapes (a int)")
                _ = try await connection.query("SELECT * FROM shapes")
                try await connection.execute("ALTER TABLE shapes ADD COLUMN b int")
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.withTransaction { _ = try await $0.query("SELECT * FROM shapes") }
                }
                #expect(error?.sqlState == "0A000")
                let columns = try await connection.withTransaction { connection in
                    try await connection.query("SELECT * FROM shapes").columns
                }
                #expect(columns == ["a", "b"])
            }
        }
    }

    @Test("A deadline of a statement's own beats the configured one")
    func timeout() async throws {
        try await withDatabase { database in
            let error = await #expect(throws: PostgresError.self) {
                try await database.query("SELECT pg_sleep(600)", timeout: .milliseconds(50))
            }
            #expect(error?.code == .timedOut)
            let one = try await database.query("SELECT 1").first(as: Int.self)
            #expect(one == 1)
        }
    }

    @Test("Ten thousand rows are copied in and read back")
    func copy() async throws {
        try await withDatabase { database in
            try await database.execute(
                "CREATE TABLE tokens (id bigint, token bytea, note text, flag bool DEFAULT true)"
            )
            try await database.withTransaction { connection in
                let count = try await connection.copyIn(
                    into: "tokens",
                    columns: ["id", "token", "note"],
                    0..<10_000
                ) { number, row in
                    row.append(Int64(number))
                    row.append([UInt8](repeating: UInt8(number % 256), count: 32))
                    row.append(number % 2 == 0 ? "even" : nil)
                }
                #expect(count == 10_000)
            }
            let rows = try await database.query("SELECT id, token, note, flag FROM tokens ORDER BY id")
            #expect(rows.count == 10_000)
            var expected = 0
            for (id, token, note, flag) in try rows.decoded(as: (Int, [UInt8], String?, Bool).self) {
                try #require(id == expected && token == [UInt8](repeating: UInt8(id % 256), count: 32))
                try #require(note == (id % 2 == 0 ? "even" : nil) && flag)
                expected += 1
            }
            var buffer: [UInt8] = []
            for row in rows.indices {
                rows.withBytes(row: row, column: 1) { bytes in bytes.withUnsafeBytes { buffer.append(contentsOf: $0) } }
            }
            #expect(buffer.count == 320_000)
        }
    }

    @Test("A COPY that the server refuses keeps no row and leaves the connection in order")
    func refusedCopy() async throws {
        try await withDatabase { database in
            try await database.withConnection { connection in
                try await connection.execute("CREATE TABLE numbers (n int PRIMARY KEY, m int)")
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.copyIn(into: "numbers", columns: ["n"], [1, 2, 2]) { $1.append(Int32($0)) }
                }
                #expect(error?.sqlState == "23505")
                let short = await #expect(throws: PostgresError.self) {
                    try await connection.copyIn(into: "numbers", columns: ["n", "m"], [1]) { $1.append(Int32($0)) }
                }
                #expect(short?.sqlState == "22P04")
                let absent = await #expect(throws: PostgresError.self) {
                    try await connection.copyIn(into: "nothing", columns: ["n"], [1]) { $1.append(Int32($0)) }
                }
                #expect(absent?.sqlState == "42P01")
                #expect(try await connection.query("SELECT count(*) FROM numbers").first(as: Int.self) == 0)
            }
        }
    }

    @Test("A malformed URL is refused without being quoted")
    func malformedURL() {
        let error = #expect(throws: PostgresError.self) { try Database(url: "postgres://u:s3cret%zz@h/d") }
        #expect(error?.code == .malformedURL)
        #expect(error.map { "\($0) \(String(reflecting: $0))".contains("s3cret") } == false)
    }
}
