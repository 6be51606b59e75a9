import LibPQ

/// A borrowed connection, for one task at a time. A closure receives it from ``Database``.
///
/// It is deliberately not Sendable, so that the compiler prevents use by two tasks at once. After the closure has
/// returned it refuses all calls.
package final class PostgresConnection {
    private enum Phase {
        /// No transaction, or one that the caller's own SQL has opened.
        case plain
        /// A transaction was requested. Its BEGIN is sent with the first statement.
        case beginning(Statement)
        case inTransaction
        /// The loan has ended.
        case ended
    }

    let session: Session
    private let statementTimeout: Duration
    private let gate: StatementGate?
    private var phase = Phase.plain

    init(_ session: Session, statementTimeout: Duration, gate: StatementGate?) {
        self.session = session
        self.statementTimeout = statementTimeout
        self.gate = gate
    }

    /// The id of the server process for this connection, as in `pg_stat_activity`.
    package var processID: Int32 { session.processID }

    /// Runs one statement. `timeout` replaces the configured one.
    package func query(_ query: Query, timeout: Duration? = nil) async throws(PostgresError) -> Rows {
        let results = try await run([query.statement], timeout)
        guard let result = results.first else { throw PostgresError(.misuse, message: "a statement without a result") }
        return Rows(result)
    }

    /// Runs one statement and returns the number of affected rows.
    @discardableResult
    package func execute(_ query: Query, timeout: Duration? = nil) async throws(PostgresError) -> Int {
        try await self.query(query, timeout: timeout).affectedRows
    }

    /// Runs statements in one round trip. Outside of a transaction they form their own: all take effect or none.
    ///
    /// - Returns: One result per statement, in order.
    /// - Throws: The error of the first failed statement, with its index in ``PostgresError/statement``. No statement
    ///   has taken effect.
    package func pipeline(_ queries: [Query], timeout: Duration? = nil) async throws(PostgresError) -> [Rows] {
        try await run(queries.map(\.statement), timeout).map { Rows($0) }
    }

    /// Runs SQL text without parameters, which may contain several commands. For migrations and setup.
    ///
    /// - Throws: ``PostgresError/Code/misuse`` if it ended the transaction that it ran in.
    package func executeScript(_ sql: String, timeout: Duration? = nil) async throws(PostgresError) {
        try await beginIfWanted()
        let deadline = deadline(timeout)
        try await withSession { (session) async throws(LibPQError) in try await session.runScript(sql, until: deadline)
        }
        if case .inTransaction = phase, session.transactionStatus == .idle {
            phase = .plain
            throw PostgresError(.misuse, message: "a script must not end the transaction that it runs in")
        }
    }

    // MARK: Transactions

    /// Runs `body` in a transaction: COMMIT if it returns, ROLLBACK if it throws. It never retries.
    ///
    /// A transaction without statements costs nothing.
    /// - Throws: The errors of `body`; ``PostgresError/Code/commitUnknown`` if the answer to COMMIT is lost;
    ///   ``PostgresError/Code/transactionAborted`` if `body` returned after a failed statement.
    package func withTransaction<R>(
        _ mode: TransactionMode = .readCommitted,
        _ body: (PostgresConnection) async throws -> R
    ) async throws -> R {
        switch phase {
        case .plain: phase = .beginning(mode.begin)
        case .ended: throw PostgresError(.closed)
        case .beginning, .inTransaction: throw PostgresError(.misuse, message: "a transaction inside a transaction")
        }
        let result: R
        do {
            result = try await body(self)
        } catch {
            await rollBack()
            throw error
        }
        try await commit()
        return result
    }

    /// Runs the last statements of a transaction together with its COMMIT, in one round trip. After it,
    /// ``withTransaction(_:_:)`` has nothing more to do.
    ///
    /// - Returns: One result per statement, in order. They are committed.
    /// - Throws: As ``pipeline(_:timeout:)`` and ``withTransaction(_:_:)``.
    package func commit(_ queries: [Query]) async throws(PostgresError) -> [Rows] {
        var before: [Statement] = []
        switch phase {
        case .beginning(let begin): before = [begin]
        case .inTransaction: break
        case .ended: throw PostgresError(.closed, message: "a connection used after its loan")
        case .plain: throw PostgresError(.misuse, message: "a commit without a transaction")
        }
        try await gate?.pass(.inTransaction)
        try await gate?.pass(.beforeCommit)
        // As in `commit()`.
        guard !Task.isCancelled else { throw PostgresError(.cancelled) }
        let statements = before + queries.map(\.statement) + [Statement(sql: "COMMIT")]
        switch await uncancelled(statements, timeout: statementTimeout) {
        case .success(let results):
            phase = .plain
            guard results.last?.commandTag == "COMMIT" else { throw PostgresError(.transactionAborted) }
            try await gate?.pass(.afterCommit)
            return results.dropFirst(before.count).dropLast().map { Rows($0) }
        case .failure(let error) where error.code == .server:
            phase = session.transactionStatus == .idle ? .plain : .inTransaction
            throw PostgresError(error, statementsBefore: before.count)
        case .failure(let error):
            phase = .plain
            throw PostgresError(error.code == .closed ? .connectionLost : .commitUnknown, cause: error)
        }
    }

    private func commit() async throws(PostgresError) {
        guard case .inTransaction = phase else {
            phase = .plain
            return
        }
        if let gate {
            do {
                try await gate.pass(.beforeCommit)
            } catch {
                await rollBack()
                throw error
            }
        }
        // Before COMMIT is sent, a cancellation counts. After that, the result of the COMMIT is more important.
        guard !Task.isCancelled else {
            await rollBack()
            throw PostgresError(.cancelled)
        }
        phase = .plain
        switch await uncancelled([Statement(sql: "COMMIT")], timeout: statementTimeout) {
        case .success(let results):
            guard results.last?.commandTag == "COMMIT" else { throw PostgresError(.transactionAborted) }
            try await gate?.pass(.afterCommit)
        case .failure(let error) where error.code == .server: throw PostgresError(error)
        case .failure(let error) where error.code == .closed: throw PostgresError(.connectionLost, cause: error)
        case .failure(let error): throw PostgresError(.commitUnknown, cause: error)
        }
    }

    private func rollBack() async {
        defer { phase = .plain }
        guard case .inTransaction = phase, session.isOpen else { return }
        if case .failure = await uncancelled([Statement(sql: "ROLLBACK")], timeout: .seconds(5)) {
            // The server rolls back when the connection closes.
            session.close()
        }
    }

    /// Runs statements to their end even if this task is cancelled. That needs a separate task.
    private func uncancelled(_ statements: [Statement], timeout: Duration) async -> Result<[ResultHandle], LibPQError> {
        let deadline = ContinuousClock.now + timeout
        return await Task { [session] in
            do throws(LibPQError) {
                return .success(try await session.run(statements, until: deadline))
            } catch {
                return .failure(error)
            }
        }.value
    }

    // MARK: The loan

    /// The condition of a connection at the end of a loan.
    enum Condition { case fit, broken, leftInTransaction }

    /// Ends the loan.
    func end() -> Condition {
        phase = .ended
        guard session.isOpen else { return .broken }
        return session.transactionStatus == .idle ? .fit : .leftInTransaction
    }

    /// Sends a pending BEGIN, for calls that cannot send it themselves.
    func beginIfWanted() async throws(PostgresError) {
        if case .beginning = phase { _ = try await run([], nil) }
    }

    /// Runs `body` on the underlying session and translates its errors.
    func withSession<R>(
        _ body: (Session) async throws(LibPQError) -> R
    ) async throws(PostgresError) -> R {
        if case .ended = phase { throw PostgresError(.closed, message: "a connection used after its loan") }
        return try await translating { () async throws(LibPQError) in try await body(session) }
    }

    func deadline(_ timeout: Duration?) -> ContinuousClock.Instant {
        ContinuousClock.now + (timeout ?? statementTimeout)
    }

    private func run(_ statements: [Statement], _ timeout: Duration?) async throws(PostgresError) -> [ResultHandle] {
        if let gate {
            if case .inTransaction = phase {
                try await gate.pass(.inTransaction)
            } else {
                try await gate.pass(.betweenTransactions)
            }
        }
        let deadline = deadline(timeout)
        switch phase {
        case .ended: throw PostgresError(.closed, message: "a connection used after its loan")
        case .beginning(let begin): return try await run(statements, after: begin, until: deadline)
        case .inTransaction:
            return try await translating { () async throws(LibPQError) in
                try await session.run(statements, until: deadline)
            }
        case .plain: return try await runPlainly(statements, until: deadline)
        }
    }

    private func runPlainly(
        _ statements: [Statement],
        until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [ResultHandle] {
        let wasIdle = session.transactionStatus == .idle
        do throws(LibPQError) {
            return try await session.run(statements, until: deadline)
        } catch {
            // No statement has taken effect, and the retry prepares it again. So the caller does not see this error.
            guard error.isStalePlan, wasIdle, session.transactionStatus == .idle else { throw PostgresError(error) }
        }
        return try await translating { () async throws(LibPQError) in
            try await session.run(statements, until: deadline)
        }
    }

    private func run(
        _ statements: [Statement],
        after begin: Statement,
        until deadline: ContinuousClock.Instant
    ) async throws(PostgresError) -> [ResultHandle] {
        do throws(LibPQError) {
            let results = try await session.run([begin] + statements, until: deadline)
            phase = .inTransaction
            return Array(results.dropFirst())
        } catch {
            if error.code == .server { phase = .inTransaction }
            throw PostgresError(error, statementsBefore: 1)
        }
    }

    private func translating<R>(
        _ body: () async throws(LibPQError) -> R
    ) async throws(PostgresError) -> R {
        do throws(LibPQError) {
            return try await body()
        } catch {
            throw PostgresError(error)
        }
    }
}

/// The isolation of a transaction (PostgreSQL manual, "Transaction Isolation").
package enum TransactionMode: Sendable, Hashable {
    case readCommitted, repeatableRead, serializable, readOnly

    var begin: Statement {
        switch self {
        case .readCommitted: Statement(sql: "BEGIN")
        case .repeatableRead: Statement(sql: "BEGIN ISOLATION LEVEL REPEATABLE READ")
        case .serializable: Statement(sql: "BEGIN ISOLATION LEVEL SERIALIZABLE")
        case .readOnly: Statement(sql: "BEGIN READ ONLY")
        }
    }
}
