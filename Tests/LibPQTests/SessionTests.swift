import Glibc
@testable import LibPQ
import Reactor
import TestSupport
import Testing

@Suite("One connection", .timeLimit(.minutes(2)))
struct SessionTests {
    private static let loop = Result { try EventLoop(name: "libpq-tests") }

    private func connect(
        _ url: String? = nil,
        attemptTimeout: Duration = .seconds(60),
        cacheCapacity: Int = 500
    ) async throws -> Session {
        let cluster = try await TestCluster.shared
        return try await Session.connect(
            ConnectionSettings(parsing: url ?? cluster.url()),
            loop: Self.loop.get(),
            deadline: .now + .seconds(60),
            attemptTimeout: attemptTimeout,
            cacheCapacity: cacheCapacity
        )
    }

    private func text(_ sql: String) -> Statement { Statement(sql: sql) }

    private var soon: ContinuousClock.Instant { .now + .seconds(60) }

    private func string(_ result: ResultHandle) -> String {
        result.withBytes(row: 0, column: 0) { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }

    @Test("A pipeline answers statement by statement")
    func pipeline() async throws {
        let session = try await connect()
        var parameters = Parameters()
        parameters.append(type: 25) { $0 += Array("two".utf8) }
        parameters.append(type: 25) { _ in }
        parameters.appendNull(type: 25)
        let results = try await session.run(
            [text("SELECT 'one'::text"), Statement(sql: "SELECT $1, $2, $3", parameters: parameters)],
            until: soon
        )
        #expect(results.map(string) == ["one", "two"])
        #expect(results[1].isNull(row: 0, column: 1) == false)
        #expect(results[1].isNull(row: 0, column: 2))
        #expect(session.transactionStatus == .idle)
    }

    @Test("A failure in the middle names its statement, undoes the others, and leaves the connection in order")
    func failureInTheMiddle() async throws {
        let session = try await connect()
        _ = try await session.run([text("CREATE TEMP TABLE numbers (n int PRIMARY KEY)")], until: soon)
        let error = await #expect(throws: LibPQError.self) {
            try await session.run(
                [
                    text("INSERT INTO numbers VALUES (1)"), text("INSERT INTO numbers VALUES (1)"),
                    text("INSERT INTO numbers VALUES (2)"),
                ],
                until: soon
            )
        }
        #expect(error?.code == .server)
        #expect(error?.statement == 1)
        #expect(error?.diagnostics?.sqlState == "23505")
        #expect(error?.diagnostics?.constraint == "numbers_pkey")
        let rows = try await session.run([text("SELECT count(*)::text FROM numbers")], until: soon)
        #expect(string(rows[0]) == "0")
    }

    @Test("Megabytes in both directions at once do not block each other")
    func bothDirections() async throws {
        let session = try await connect()
        let size = 200_000
        let statements = (0..<200).map { number in
            var parameters = Parameters()
            parameters.append(type: 25) { $0 += [UInt8](repeating: UInt8(0x61 + number % 26), count: size) }
            return Statement(sql: "SELECT $1", parameters: parameters)
        }
        let results = try await session.run(statements, until: .now + .seconds(60))
        #expect(results.count == 200)
        #expect(results.allSatisfy { $0.withBytes(row: 0, column: 0) { $0.byteCount } == size })
    }

    /// A dance that takes note of where its steps are taken.
    private struct Watched: Dance {
        var dance: PipelineDance
        let loop: EventLoop
        var stepsOnLoop: [Bool] = []

        mutating func advance(_ connection: ConnectionHandle) -> Step {
            stepsOnLoop.append(loop.isCurrent)
            return dance.advance(connection)
        }
    }

    @Test("An answer in many pieces is read to its end on the loop")
    func onLoop() async throws {
        let session = try await connect()
        let loop = try Self.loop.get()
        let watched = try await session.operate { (connection) async throws(LibPQError) in
            let isSent =
                connection.sendUnprepared(text("SELECT repeat('x', 8000000)")) && connection.sendSync()
            guard isSent else { throw connection.refused() }
            var watched = Watched(dance: PipelineDance([.execute(0), .sync], statements: 1), loop: loop)
            try await session.lead(&watched, connection, until: soon)
            return watched
        }
        let result = try #require(watched.dance.results.first ?? nil)
        #expect(result.withBytes(row: 0, column: 0) { $0.byteCount } == 8_000_000)
        #expect(watched.stepsOnLoop.count > 1)
        #expect(watched.stepsOnLoop.first == false)
        #expect(watched.stepsOnLoop.dropFirst().allSatisfy { $0 })
    }

    @Test("A statement is prepared once, and the least used are given up")
    func preparing() async throws {
        let session = try await connect(cacheCapacity: 4)
        for _ in 0..<3 { _ = try await session.run([text("SELECT 1")], until: soon) }
        #expect(session.cache.count == 1)
        for number in 2...6 { _ = try await session.run([text("SELECT \(number)")], until: soon) }
        let listed = try await session.run(
            [text("SELECT count(*)::text FROM pg_prepared_statements WHERE statement LIKE 'SELECT _'")],
            until: soon
        )
        #expect(string(listed[0]) == "4")
    }

    @Test("The same new statement twice in one pipeline is prepared once")
    func preparingTwice() async throws {
        let session = try await connect()
        let results = try await session.run([text("SELECT 'x'::text"), text("SELECT 'x'::text")], until: soon)
        #expect(results.count == 2)
        #expect(session.cache.count == 1)
    }

    @Test("A statement that was not prepared is not remembered")
    func notPrepared() async throws {
        let session = try await connect()
        await #expect(throws: LibPQError.self) {
            try await session.run([text("SELECT 1/0"), text("SELECT 2")], until: soon)
        }
        #expect(session.cache.count == 1)
        let results = try await session.run([text("SELECT '2'::text")], until: soon)
        #expect(string(results[0]) == "2")
    }

    @Test("After the deadline the connection is gone, and the server has stopped the statement")
    func deadline() async throws {
        let session = try await connect()
        let observer = try await connect()
        let error = await #expect(throws: LibPQError.self) {
            try await session.run([text("SELECT pg_sleep(600)")], until: .now + .milliseconds(100))
        }
        #expect(error?.code == .timedOut)
        #expect(!session.isOpen)
        try await expectGone(session.processID, observer)
        let again = await #expect(throws: LibPQError.self) { try await session.run([text("SELECT 1")], until: soon) }
        #expect(again?.code == .closed)
    }

    @Test("A cancelled task gives up at once, and the server with it")
    func cancellation() async throws {
        let session = try await connect()
        let observer = try await connect()
        let task = Task { try await session.run([text("SELECT pg_sleep(600)")], until: nil) }
        try await expectRunning(session.processID, observer)
        task.cancel()
        let error = await #expect(throws: LibPQError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(!session.isOpen)
        try await expectGone(session.processID, observer)
    }

    @Test("A task that was cancelled before leaves the connection alone")
    func cancelledBefore() async throws {
        let session = try await connect()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await session.run([text("SELECT 1")], until: nil)
        }
        let error = await #expect(throws: LibPQError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(session.isOpen)
    }

    @Test("A server process that is killed in the middle of a statement is a lost connection with a reason")
    func killed() async throws {
        let session = try await connect()
        let observer = try await connect()
        let task = Task { try await session.run([text("SELECT pg_sleep(600)")], until: nil) }
        try await expectRunning(session.processID, observer)
        _ = try await observer.run([text("SELECT pg_terminate_backend(\(session.processID))")], until: soon)
        let error = await #expect(throws: LibPQError.self) { try await task.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.diagnostics?.sqlState == "57P01")
        #expect(!session.isOpen)
    }

    @Test("A constraint that is checked at the end of a pipeline fails it, and leaves the connection in order")
    func failureAtTheEnd() async throws {
        let session = try await connect()
        let table = "CREATE TEMP TABLE numbers (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)"
        _ = try await session.run([text(table)], until: soon)
        let insertion = text("INSERT INTO numbers VALUES (1)")
        let error = await #expect(throws: LibPQError.self) {
            try await session.run([insertion, insertion], until: soon)
        }
        #expect(error?.code == .server)
        #expect(error?.statement == nil)
        #expect(error?.diagnostics?.sqlState == "23505")
        let count = try await session.run([text("SELECT count(*)::text FROM numbers")], until: soon)
        #expect(count.map(string) == ["0"])
    }

    @Test("A server process that is killed at the end of a pipeline is a lost connection with a reason")
    func killedAtTheEnd() async throws {
        let session = try await connect()
        try await session.runScript(
            """
            CREATE TEMP TABLE numbers (n int);
            CREATE FUNCTION pg_temp.fall() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER falls AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION pg_temp.fall();
            """,
            until: soon
        )
        let error = await #expect(throws: LibPQError.self) {
            try await session.run([text("INSERT INTO numbers VALUES (1)")], until: soon)
        }
        #expect(error?.code == .connectionLost)
        #expect(error?.diagnostics?.sqlState == "57P01")
        #expect(session.isOpen == false)
    }

    @Test("A server process that is killed at rest is noticed before the next use")
    func killedAtRest() async throws {
        let session = try await connect()
        let observer = try await connect()
        #expect(session.isAlive())
        _ = try await observer.run([text("SELECT pg_terminate_backend(\(session.processID), 10000)")], until: soon)
        #expect(!session.isAlive())
        #expect(!session.isOpen)
    }

    @Test("Two operations at once are refused, and the first goes on")
    func busy() async throws {
        let session = try await connect()
        let observer = try await connect()
        let first = Task { try await session.run([text("SELECT pg_sleep(600)")], until: nil) }
        try await expectRunning(session.processID, observer)
        let error = await #expect(throws: LibPQError.self) { try await session.run([text("SELECT 1")], until: soon) }
        #expect(error?.code == .busy)
        #expect(session.isOpen)
        _ = try await observer.run([text("SELECT pg_cancel_backend(\(session.processID))")], until: soon)
        let end = await #expect(throws: LibPQError.self) { try await first.value }
        #expect(end?.diagnostics?.sqlState == "57014")
        #expect(session.isOpen)
    }

    @Test("COPY in a pipeline ends the connection rather than hanging it")
    func copyInPipeline() async throws {
        let session = try await connect()
        let error = await #expect(throws: LibPQError.self) {
            try await session.run([text("COPY pg_class TO STDOUT")], until: soon)
        }
        #expect(error?.code == .misuse)
        #expect(!session.isOpen)
    }

    @Test("A script runs several commands, stops at the first failure, and is followed by pipelines again")
    func script() async throws {
        let session = try await connect()
        try await session.runScript(
            "CREATE TEMP TABLE a (n int); INSERT INTO a VALUES (1); SELECT * FROM a",
            until: soon
        )
        let error = await #expect(throws: LibPQError.self) {
            try await session.runScript("INSERT INTO a VALUES (2); SELECT 1/0; INSERT INTO a VALUES (3)", until: soon)
        }
        #expect(error?.diagnostics?.sqlState == "22012")
        let rows = try await session.run([text("SELECT string_agg(n::text, ',') FROM a")], until: soon)
        #expect(string(rows[0]) == "1")
    }

    @Test("Notifications arrive, also those that came with other answers")
    func notifications() async throws {
        let session = try await connect()
        let sender = try await connect()
        _ = try await session.run([text("LISTEN news")], until: soon)
        #expect(try await session.notifications(until: .now).isEmpty)
        _ = try await sender.run([text("NOTIFY news, 'one'")], until: soon)
        _ = try await session.run([text("SELECT 1")], until: soon)
        _ = try await sender.run([text("NOTIFY news, 'two'")], until: soon)
        var payloads: [String] = []
        while payloads.count < 2 { payloads += try await session.notifications(until: soon).map(\.payload) }
        #expect(payloads == ["one", "two"])
    }

    @Test("A host that is away, or that says nothing, leaves its turn to the next one")
    func severalHosts() async throws {
        let silent = try SilentHost()
        let settings = try ConnectionSettings(parsing: try await TestCluster.shared.url())
        let socket = try #require(settings["host"])
        let session = try await connect(
            "host=/nowhere,127.0.0.1,\(socket) port=5432,\(silent.port),5432 user=tally dbname=postgres",
            attemptTimeout: .seconds(5)
        )
        #expect(session.isOpen)
        let error = await #expect(throws: LibPQError.self) {
            _ = try await connect(
                "host=/nowhere,127.0.0.1 port=5432,\(silent.port) user=tally dbname=postgres",
                attemptTimeout: .seconds(2)
            )
        }
        #expect(error?.code == .unreachable)
        #expect(error?.message?.contains("/nowhere") == true)
        #expect(error?.message?.contains("127.0.0.1 at 127.0.0.1: timedOut") == true)
    }

    @Test(
        "A name whose first address says nothing is reached at the next one",
        .enabled(if: (try? SilentHost("127.0.0.2")) != nil, "127.0.0.2 is no address of this machine")
    )
    func severalAddresses() async throws {
        // Nobody listens there at the other address.
        let silent = try SilentHost("127.0.0.2", port: try await unusedPort())
        let error = await #expect(throws: LibPQError.self) {
            _ = try await Session.connect(
                ConnectionSettings(parsing: "host=db.test port=\(silent.port) user=tally dbname=postgres"),
                loop: Self.loop.get(),
                deadline: .now + .seconds(60),
                attemptTimeout: .seconds(5),
                cacheCapacity: 1,
                lookUp: { $0 == "db.test" ? ["127.0.0.2", "127.0.0.1"] : [] }
            )
        }
        #expect(error?.code == .unreachable)
        let words = error?.message?.split(separator: "; ") ?? []
        #expect(words.count == 2)
        #expect(words.first == "connecting to db.test at 127.0.0.2: timedOut")
        #expect(words.last?.contains("127.0.0.1") == true)
        #expect(words.last?.contains("refused") == true)
    }

    @Test("The addresses of a name are attempts of their own; what has none, or is none, is left to libpq")
    func addresses() throws {
        let attempts = try ConnectionSettings(parsing: "host=two,/run/two,@two,10.0.0.1").attempts
        #expect(attempts.map(HostAddresses.name) == ["two", nil, nil, "10.0.0.1"])
        let given = try ConnectionSettings(parsing: "host=two hostaddr=10.0.0.9").attempts
        #expect(given.map(HostAddresses.name) == [nil])
        let spread = HostAddresses.spread(attempts[0], over: ["10.0.0.1", "::1"])
        let hosts = spread.map { attempt in attempt.filter { $0.keyword == "host" }.map(\.value) }
        #expect(hosts == [["two"], ["two"]])
        let addresses = spread.map { attempt in attempt.filter { $0.keyword == "hostaddr" }.map(\.value) }
        #expect(addresses == [["10.0.0.1"], ["::1"]])
        #expect(HostAddresses.spread(attempts[0], over: []) == [attempts[0]])
        #expect(HostAddresses.system("127.0.0.1") == ["127.0.0.1"])
        #expect(HostAddresses.system("::1") == ["::1"])
        // A label has at most 63 characters, so no name server is asked.
        #expect(HostAddresses.system(String(repeating: "x", count: 64)).isEmpty)
    }

    // Whether a backend is there, or at work, is told only by a view.

    private func expectGone(_ processID: Int32, _ observer: Session) async throws {
        let query = text("SELECT count(*)::text FROM pg_stat_activity WHERE pid = \(processID)")
        try await poll(query, observer) { $0 == "0" }
    }

    private func expectRunning(_ processID: Int32, _ observer: Session) async throws {
        let query = text(
            "SELECT count(*)::text FROM pg_stat_activity WHERE pid = \(processID) AND wait_event = 'PgSleep'"
        )
        try await poll(query, observer) { $0 == "1" }
    }

    private func poll(_ query: Statement, _ observer: Session, until condition: (String) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if condition(string(try await observer.run([query], until: soon)[0])) { return }
            try #require(ContinuousClock.now < deadline, "the server did not get there in time")
        }
    }
}

/// Takes TCP connections and never says a word.
private final class SilentHost: Sendable {
    private let descriptor: Int32
    let port: UInt16

    init(_ host: String = "127.0.0.1", port: UInt16 = 0) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(host)
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: address.sin_port)
        guard bound else { throw LibPQError(.unreachable, message: "nobody can listen on \(host)") }
    }

    deinit { close(descriptor) }
}
