import LibPQ
package import Logging
package import Reactor
import ServiceLifecycle
import Synchronization

/// The connection pool of one database. It lends connections to closures.
///
/// It works with or without ``run()``: a task that needs a connection opens it. `run()` also checks idle connections
/// and waits for the loans at a shutdown. Waiting callers are served in the order of arrival.
package final class Database: Service, Sendable, CustomStringConvertible {
    package let configuration: Configuration
    let settings: ConnectionSettings
    let loop: EventLoop
    let logger: Logger
    let pool: Pool
    /// Connections for looks at the daemon's health (``look(_:within:)``): those of the pool may all be in use.
    let reserve: Pool
    /// Whether the server refuses to write.
    package let writes: WriteRefusals
    private let gate: StatementGate?
    /// One for probes, and one for who looks beside them.
    private static let reserved = 2
    private let failures: Mutex<ConnectFailures>

    /// Parses a connection string, without connecting.
    ///
    /// - Parameters:
    ///   - url: `postgres://…` or `keyword=value …`, possibly with several hosts. Missing settings come from libpq's
    ///     environment variables.
    ///   - configuration: The configuration of the pool.
    ///   - loop: The loop that waits for sockets; `nil` for one that all such databases of the process share.
    ///   - logger: Reports the beginning and end of outages.
    /// - Throws: ``PostgresError/Code/malformedURL``; ``PostgresError/Code/unreachable`` if the process has no more
    ///   threads.
    package init(
        url: String,
        configuration: Configuration = Configuration(),
        loop: EventLoop? = nil,
        logger: Logger = Logger(label: "postgres")
    ) throws(PostgresError) {
        self.configuration = configuration
        self.logger = logger
        settings = try Self.settings(url, configuration)
        if let loop { self.loop = loop } else { self.loop = try SharedLoop.get() }
        pool = Pool(maximum: configuration.maximumConnections, loop: self.loop)
        reserve = Pool(maximum: Self.reserved, loop: self.loop)
        writes = WriteRefusals()
        gate = nil
        failures = Mutex(ConnectFailures(longestPause: configuration.maximumBackOff))
    }

    /// Checks a connection string, and whether every port that it names is one. libpq finds out only when it connects.
    ///
    /// - Throws: ``PostgresError/Code/malformedURL``.
    package static func namesPorts(url: String) throws(PostgresError) -> Bool {
        guard let ports = try settings(url, Configuration())["port"] else { return true }
        return ports.split(separator: ",").allSatisfy { port in Int(port).map { (1...65535).contains($0) } ?? false }
    }

    /// Shares the connections of another database behind a gate. A simulated daemon can stop and start while they stay
    /// open.
    ///
    /// The owner of the other database shuts it down.
    package init(_ other: Database, behind gate: StatementGate) {
        configuration = other.configuration
        settings = other.settings
        loop = other.loop
        logger = other.logger
        pool = other.pool
        reserve = other.reserve
        writes = other.writes
        self.gate = gate
        failures = Mutex(ConnectFailures(longestPause: configuration.maximumBackOff))
    }

    /// The name in the logs of the service group.
    package var description: String { "postgres" }

    /// The current counts of the pool.
    package var statistics: Statistics { pool.statistics }

    // MARK: Loans

    /// Lends a connection to `body`.
    ///
    /// - Throws: The errors of `body`; ``PostgresError/Code/poolExhausted`` or ``PostgresError/Code/unreachable`` if no
    ///   connection is available within ``Configuration/acquireTimeout``.
    package func withConnection<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        let connection = try await lend()
        defer { takeBack(connection) }
        return try await body(connection)
    }

    /// Lends a connection with a transaction: COMMIT if `body` returns, ROLLBACK if it throws. It never retries. For
    /// the errors see ``PostgresConnection/withTransaction(_:_:)``.
    package func withTransaction<R>(
        _ mode: TransactionMode = .readCommitted,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        try await withConnection { try await $0.withTransaction(mode, body) }
    }

    /// Runs one statement on any connection.
    package func query(_ query: Query, timeout: Duration? = nil) async throws(PostgresError) -> Rows {
        let connection = try await lend()
        defer { takeBack(connection) }
        return try await connection.query(query, timeout: timeout)
    }

    /// Runs one statement on any connection and returns the number of affected rows.
    @discardableResult
    package func execute(_ query: Query, timeout: Duration? = nil) async throws(PostgresError) -> Int {
        try await self.query(query, timeout: timeout).affectedRows
    }

    /// Runs statements in one round trip and one transaction on any connection.
    package func pipeline(_ queries: [Query], timeout: Duration? = nil) async throws(PostgresError) -> [Rows] {
        let connection = try await lend()
        defer { takeBack(connection) }
        return try await connection.pipeline(queries, timeout: timeout)
    }

    /// Runs one statement on any connection, with a limit for everything: also for the wait for a connection.
    package func query(_ query: Query, within limit: Duration) async throws(PostgresError) -> Rows {
        let deadline = ContinuousClock.now + limit
        let connection = try await lend(until: deadline)
        defer { takeBack(connection) }
        return try await connection.query(query, timeout: ContinuousClock.now.duration(to: deadline))
    }

    /// The same on a connection that nothing else uses. So it tells how the database is, also while all connections of
    /// the pool wait for a lock.
    package func look(_ query: Query, within limit: Duration) async throws(PostgresError) -> Rows {
        let deadline = ContinuousClock.now + limit
        let connection = try await lend(from: reserve, until: deadline)
        defer { takeBack(connection, to: reserve) }
        return try await connection.query(query, timeout: ContinuousClock.now.duration(to: deadline))
    }

    private func lend(until end: ContinuousClock.Instant? = nil) async throws(PostgresError) -> PostgresConnection {
        let began = ContinuousClock.now
        defer { configuration.waited?(began.duration(to: .now)) }
        let latest = began + configuration.acquireTimeout
        return try await lend(from: pool, until: end.map { min($0, latest) } ?? latest)
    }

    private func lend(
        from pool: Pool,
        until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> PostgresConnection {
        switch await pool.acquire(until: deadline) {
        case .session(let session) where session.isAlive():
            return loan(session)
        case .session, .slot:
            // The server closed this connection while it was idle, so a new one replaces it.
            return loan(try await fillSlot(of: pool, until: deadline))
        case .closed: throw PostgresError(.closed)
        case .cancelled: throw PostgresError(.cancelled)
        case .timedOut:
            let count = pool === reserve ? Self.reserved : configuration.maximumConnections
            throw PostgresError(.poolExhausted, message: "all \(count) connections stayed in use")
        }
    }

    private func loan(_ session: Session) -> PostgresConnection {
        PostgresConnection(session, statementTimeout: configuration.statementTimeout, gate: gate)
    }

    private func takeBack(_ connection: PostgresConnection) { takeBack(connection, to: pool) }

    private func takeBack(_ connection: PostgresConnection, to pool: Pool) {
        let session = connection.session
        let isReadOnly = session.takeFailure().map { writes.saw($0) } ?? false
        switch connection.end() {
        case .fit where !isReadOnly: return pool.release(session)
        case .fit, .broken: break
        case .leftInTransaction: logger.warning("a transaction was left open; the connection is thrown away")
        }
        session.close()
        pool.freeSlot()
    }

    // MARK: Making connections

    /// Opens a connection for a slot, with retries until the deadline. Gives up the slot if all attempts fail.
    private func fillSlot(
        of pool: Pool,
        until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> Session {
        var last: PostgresError?
        do throws(PostgresError) {
            while true {
                try await pauseBeforeAttempt(until: deadline, last)
                do throws(PostgresError) {
                    let session = try await makeSession(until: deadline)
                    reached()
                    return session
                } catch {
                    guard error.code == .unreachable else { throw error }
                    missed(error)
                    if configuration.endsAtRefusal, error.isLastingRefusal { throw error }
                    // An attempt that the deadline cut short has a less useful error than the one before.
                    if last == nil || ContinuousClock.now < deadline { last = error }
                }
            }
        } catch {
            pool.freeSlot()
            throw error
        }
    }

    private func pauseBeforeAttempt(
        until deadline: ContinuousClock.Instant,
        _ last: PostgresError?
    ) async throws(PostgresError) {
        let delay = failures.withLock { $0.pause }
        let now = ContinuousClock.now
        do {
            if delay > .zero { try await Task.sleep(until: min(now + delay, deadline), clock: .continuous) }
        } catch {
            throw PostgresError(.cancelled)
        }
        guard now + delay < deadline else { throw last ?? PostgresError(.unreachable, message: "the server is away") }
    }

    /// Opens one connection, ready for use.
    func makeSession(until deadline: ContinuousClock.Instant) async throws(PostgresError) -> Session {
        do throws(LibPQError) {
            let session = try await Session.connect(
                settings,
                loop: loop,
                deadline: deadline,
                attemptTimeout: settings["connect_timeout"].flatMap { Int($0) }.map { .seconds($0) }
                    ?? configuration.connectTimeout,
                cacheCapacity: configuration.statementCacheCapacity
            )
            _ = try await session.run(
                configuration.sessionSettings(serverVersion: session.serverVersion),
                until: deadline
            )
            return session
        } catch {
            // Whatever failed here, no statement of the caller was sent.
            if error.code == .cancelled { throw PostgresError(error) }
            throw PostgresError(
                .unreachable,
                message: PostgresError(error).message,
                sqlState: error.refusal,
                cause: error
            )
        }
    }

    private func reached() {
        let count = failures.withLock { failures in
            defer { failures.succeeded() }
            return failures.count
        }
        if count > 0 { logger.notice("database reached again", metadata: ["postgres.attempts": "\(count + 1)"]) }
    }

    private func missed(_ error: PostgresError) {
        let count = failures.withLock { failures in
            failures.failed()
            return failures.count
        }
        // A warning once per outage; further attempts at debug level.
        logger.log(
            level: count == 1 ? .warning : .debug,
            "database not reached",
            metadata: ["postgres.error": "\(error)", "postgres.attempts": "\(count)"]
        )
    }

    /// The settings of the string, completed with Tally's own defaults.
    static func settings(
        _ url: String,
        _ configuration: Configuration
    ) throws(PostgresError) -> ConnectionSettings {
        do throws(LibPQError) {
            var settings = try ConnectionSettings(parsing: url)
            settings.set("client_encoding", "UTF8")
            settings.setDefault("application_name", configuration.applicationName)
            // A peer that vanished silently is noticed after one minute instead of two hours.
            settings.setDefault("keepalives_idle", "30")
            settings.setDefault("keepalives_interval", "10")
            settings.setDefault("keepalives_count", "3")
            settings.setDefault("tcp_user_timeout", "30000")
            return settings
        } catch {
            throw PostgresError(error)
        }
    }
}

/// The loop of all databases that were created without one. It lives as long as the process.
private enum SharedLoop {
    private static let loop = Result { () throws(ReactorError) in try EventLoop(name: "postgres") }

    static func get() throws(PostgresError) -> EventLoop {
        do {
            return try loop.get()
        } catch {
            throw PostgresError(.unreachable, message: "no event loop: \(error)", cause: error)
        }
    }
}
