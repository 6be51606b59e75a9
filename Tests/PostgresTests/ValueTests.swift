import FoundationEssentials
import Postgres
import TestSupport
import Testing

enum Colour: String, PostgresValue, CaseIterable { case red, green }

@Suite("Values between Swift and the server", .timeLimit(.minutes(2)))
struct ValueTests {
    private func same<Value: PostgresValue & Equatable & Sendable>(
        _ value: Value,
        _ type: String,
        _ text: String,
        _ database: Database
    ) async throws {
        let query: Query = "SELECT \(value), \(value)::text, pg_typeof(\(value))::text"
        let (back, printed, typeName) = try #require(
            try await database.query(query).first(as: (Value, String, String).self)
        )
        #expect(back == value)
        #expect(printed == text)
        #expect(typeName == type)
    }

    @Test("Each type arrives as what it means, and comes back as it went")
    func types() async throws {
        try await withDatabase { database in
            try await same("héllo 🎯", "text", "héllo 🎯", database)
            try await same("", "text", "", database)
            try await same(Int16.min, "smallint", "-32768", database)
            try await same(Int32.max, "integer", "2147483647", database)
            try await same(Int64.min, "bigint", "-9223372036854775808", database)
            try await same(7, "bigint", "7", database)
            try await same(true, "boolean", "true", database)
            try await same(-0.1, "double precision", "-0.1", database)
            try await same(Double.infinity, "double precision", "Infinity", database)
            try await same([0, 1, 255] as [UInt8], "bytea", "\\x0001ff", database)
            try await same([] as [UInt8], "bytea", "\\x", database)
            let id = UUID()
            try await same(id, "uuid", id.uuidString.lowercased(), database)
            try await same(
                PGTimestamp(microseconds: 1_700_000_000_123_456),
                "timestamp with time zone",
                "2023-11-14 22:13:20.123456+00",
                database
            )
            try await same(PGTimestamp(microseconds: .max), "timestamp with time zone", "infinity", database)
            try await same(PGTimestamp(microseconds: .min), "timestamp with time zone", "-infinity", database)
            try await same(
                Date(timeIntervalSince1970: 1_700_000_000.5),
                "timestamp with time zone",
                "2023-11-14 22:13:20.5+00",
                database
            )
            try await same(JSONText(#"{"b": 1.0,  "a": 1e3}"#), "json", #"{"b": 1.0,  "a": 1e3}"#, database)
            try await same(Duration.milliseconds(-1500), "interval", "-00:00:01.5", database)
            try await same(Colour.green, "text", "green", database)
        }
    }

    @Test("Arrays arrive whole, with their gaps")
    func arrays() async throws {
        try await withDatabase { database in
            try await same(["a", "", "c,\"d"], "text[]", #"{a,"","c,\"d"}"#, database)
            try await same(["a", nil], "text[]", "{a,NULL}", database)
            try await same([1, 2, 3], "bigint[]", "{1,2,3}", database)
            try await same([nil, nil] as [Int32?], "integer[]", "{NULL,NULL}", database)
            try await same([] as [Int64], "bigint[]", "{}", database)
            try await same([[1, 2], []] as [[UInt8]], "bytea[]", #"{"\\x0102","\\x"}"#, database)
            try await same([[1], nil] as [[UInt8]?], "bytea[]", #"{"\\x01",NULL}"#, database)
            try await same([true, false], "boolean[]", "{t,f}", database)
            try await same([JSONText("1"), nil] as [JSONText?], "json[]", "{1,NULL}", database)
            try await same([Colour.red], "text[]", "{red}", database)
            let rows = try await database.query(
                "SELECT * FROM unnest(\(["x", nil]), \([1, nil] as [Int?]), \([[7], nil] as [[UInt8]?])) AS t (a, b, c)"
            )
            let values = try rows.decoded(as: (String?, Int?, [UInt8]?).self)
            #expect(values[0] == ("x", 1, [7]))
            #expect(values[1] == (nil, nil, nil))
        }
    }

    @Test("NULL travels in both directions, typed")
    func nulls() async throws {
        try await withDatabase { database in
            let none: Int32? = nil
            let noArray: [String]? = nil
            let query: Query = "SELECT \(none), pg_typeof(\(none))::text, \(noArray), pg_typeof(\(noArray))::text"
            let values = try #require(
                try await database.query(query).first(as: (Int32?, String, [String]?, String).self)
            )
            #expect(values == (nil, "integer", nil, "text[]"))
        }
    }

    @Test("Enums, jsonb and intervals of days are read as what they are")
    func otherTypes() async throws {
        try await withDatabase { database in
            try await database.execute("CREATE TYPE colour AS ENUM ('red', 'green')")
            let rows = try await database.query(
                """
                SELECT \(Colour.red)::colour AS one, ARRAY[\("green")::colour] AS some, '{"a": 1}'::jsonb AS json,
                    'x'::varchar AS text, 'y'::name AS name, interval '1 day 2 seconds' AS span, 3::smallint AS short,
                    1.5::real AS real
                """
            )
            let row = try #require(rows.first)
            #expect(try row["one"] as Colour == .red)
            #expect(try row["some"] as [Colour] == [.green])
            #expect(try row["json"] as JSONText == JSONText(#"{"a": 1}"#))
            #expect(try row["text"] as String == "x")
            #expect(try row["name"] as String == "y")
            #expect(try row["span"] as Duration == .seconds(86_402))
            #expect(try row["short"] as Int == 3)
            #expect(try row["real"] as Double == 1.5)
        }
    }

    @Test("A column is read by its name; there is no other way to spell it")
    func names() async throws {
        try await withDatabase { database in
            let rows = try await database.query("SELECT 1 AS one, NULL::text AS one_more, 2 AS one")
            let row = try #require(rows.first)
            // The first of two.
            #expect(try row["one"] as Int == 1)
            #expect(try row["one_more"] as String? == nil)
            for name in ["on", "One", "two"] as [StaticString] {
                let error = #expect(throws: PostgresError.self) { try row[name] as Int }
                #expect(error?.message == "no column is called \(name)")
            }
        }
    }

    @Test("What does not fit is refused by the name of its column, never by its value")
    func mismatches() async throws {
        try await withDatabase { database in
            let row = try #require(
                try await database.query("SELECT NULL::text AS a, 's3cret' AS b, 70000 AS c, interval '1 month' AS d")
                    .first
            )
            func message(_ body: () throws -> Void) -> String? {
                (#expect(throws: PostgresError.self) { try body() })?.message
            }
            #expect(message { _ = try row.decode(String.self, at: 0) } == "column a is NULL where String is expected")
            #expect(message { _ = try row.decode(Int.self, at: 1) } == "column b is of type 25 where Int is expected")
            #expect(
                message { _ = try row.decode(Int16.self, at: 2) } == "column c is out of range where Int16 is expected"
            )
            #expect(
                message { _ = try row.decode(Duration.self, at: 3) }
                    == "column d is out of range where Duration is expected"
            )
            #expect(
                message { _ = try row.decode(Colour.self, at: 1) }
                    == "column b is out of range where Colour is expected"
            )
            #expect(message { _ = try row.decode(Int.self, at: 4) } == "no column 5 among 4")
            #expect(message { _ = try row.decode((String?, String).self) } == "4 columns where 2 are expected")
        }
    }

    @Test("Broken arrays are refused, not trusted", arguments: [0, 4, 12, 16, 20, 23])
    func brokenArrays(_ length: Int) {
        var bytes: [UInt8] = []
        ["abc", "def"].encodePostgres(into: &bytes)
        let cut = Array(bytes.prefix(length))
        #expect(throws: ValueFailure.malformed) {
            try cut.withUnsafeBytes { try [String].decodeField($0.bytes, oid: 1009) }
        }
    }
}
