import TestSupport
import Testing

@testable import Postgres

@Suite("A server that refuses to write", .timeLimit(.minutes(2)))
struct WriteRefusalTests {
    @Test("Read-only, disk full and failing storage are refusals to write, and nothing else is")
    func states() {
        for state in ["25006", "53100", "58000", "58030"] {
            #expect(WriteRefusals.Refusal(sqlState: state)?.sqlState == state)
        }
        for state in ["", "25001", "25P03", "53000", "53300", "57014", "23505"] {
            #expect(WriteRefusals.Refusal(sqlState: state) == nil, "\(state)")
        }
    }

    @Test("A refusal is remembered for a minute since the last one")
    func memory() {
        let writes = WriteRefusals()
        let began = ContinuousClock.now
        #expect(writes.current(at: began) == nil)
        #expect(!writes.saw("23505", at: began))
        #expect(writes.current(at: began) == nil)
        #expect(!writes.saw("53100", at: began))
        #expect(writes.current(at: began + .seconds(59))?.meaning == "The database's disk is full.")
        #expect(!writes.saw("53100", at: began + .seconds(30)))
        #expect(writes.current(at: began + .seconds(89)) != nil)
        #expect(writes.current(at: began + .seconds(90)) == nil)
    }

    @Test("Connections to a read-only server are thrown away, a few a second")
    func pause() {
        let writes = WriteRefusals()
        let began = ContinuousClock.now
        #expect(writes.saw("25006", at: began))
        #expect(!writes.saw("25006", at: began + .milliseconds(99)))
        #expect(writes.saw("25006", at: began + .milliseconds(100)))
    }

    @Test("A write that a read-only server refuses is remembered, and its connection is not lent again")
    func readOnly() async throws {
        var configuration = Database.Configuration.patient
        configuration.maximumConnections = 1
        try await withDatabase(configuration: configuration) { database in
            try await database.execute("CREATE TABLE numbers (n int)")
            #expect(database.writes.current() == nil)
            let first = try await database.withConnection { connection in
                try await connection.execute("SET default_transaction_read_only = on")
                return connection.processID
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("INSERT INTO numbers VALUES (1)")
            }
            #expect(error?.sqlState == "25006")
            #expect(database.writes.current()?.isReadOnly == true)
            let second = try await database.withConnection { $0.processID }
            #expect(first != second)
            try await database.execute("INSERT INTO numbers VALUES (1)")
        }
    }

    @Test("A transaction that a read-only server refuses is remembered, too")
    func transaction() async throws {
        try await withDatabase { database in
            try await database.execute("CREATE TABLE numbers (n int)")
            await #expect(throws: PostgresError.self) {
                try await database.withTransaction(.readOnly) { connection in
                    _ = try await connection.commit(["INSERT INTO numbers VALUES (1)"])
                }
            }
            #expect(database.writes.current()?.isReadOnly == true)
        }
    }

    @Test("A limit for a whole statement holds for the wait for a connection, too")
    func limit() async throws {
        var configuration = Database.Configuration.patient
        configuration.maximumConnections = 1
        try await withDatabase(configuration: configuration) { database in
            let began = ContinuousClock.now
            let error = try await database.withConnection { _ in
                await #expect(throws: PostgresError.self) {
                    _ = try await database.query("SELECT 1", within: .milliseconds(200))
                }
            }
            #expect(error?.code == .poolExhausted)
            #expect(began.duration(to: .now) < .seconds(50))
            let late = await #expect(throws: PostgresError.self) {
                _ = try await database.query("SELECT pg_sleep(60)", within: .seconds(2))
            }
            #expect(late?.code == .timedOut)
            #expect(try await database.query("SELECT 1", within: .seconds(30)).first(as: Int.self) == 1)
        }
    }
}
