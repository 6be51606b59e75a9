extension Session {
    /// Runs statements in one round trip. They form one implicit transaction unless a transaction is already open.
    ///
    /// A statement is prepared at its first use, in the same round trip, and cached by its text and types.
    ///
    /// - Returns: One result per statement.
    /// - Throws: ``LibPQError/Code/server`` with the index of the failed statement; the implicit transaction is rolled
    ///   back. Any other error closes the session, except ``LibPQError/Code/cancelled`` before anything was sent.
    package func run(
        _ statements: [Statement],
        until deadline: ContinuousClock.Instant?
    ) async throws(LibPQError) -> [ResultHandle] {
        try await operate { (connection) async throws(LibPQError) in
            var plan = Plan()
            try queue(statements, on: connection, &plan)
            var dance = PipelineDance(plan.commands, statements: statements.count)
            try await lead(&dance, connection, until: deadline)
            remember(dance.prepared, plan, failure: dance.failure, statements)
            if let failure = dance.failure { throw failure }
            return dance.results.compactMap { $0 }
        }
    }

    /// The commands that were sent, and the statements that are being prepared.
    private struct Plan {
        var commands: [PipelineReader.Command] = []
        var fresh: [StatementCache.Key: String] = [:]
    }

    private func queue(
        _ statements: [Statement],
        on connection: ConnectionHandle,
        _ plan: inout Plan
    ) throws(LibPQError) {
        var accepted = true
        // In its own segment, so that a failure of one does not affect the other.
        if connection.transactionStatus == .idle, !cache.doomed.isEmpty {
            for name in cache.takeDoomed() {
                accepted = accepted && connection.sendUnprepared(Statement(sql: "DEALLOCATE \(name)"))
                plan.commands.append(.housekeeping)
            }
            accepted = accepted && connection.sendSync()
            plan.commands.append(.sync)
        }
        for (index, statement) in statements.enumerated() {
            let key = StatementCache.Key(sql: statement.sql, types: statement.parameters.types)
            let name: String
            if let known = cache.name(for: key) ?? plan.fresh[key] {
                name = known
            } else {
                name = cache.newName()
                accepted = accepted && connection.sendPrepare(name: name, sql: key.sql, types: key.types)
                plan.commands.append(.prepare(name))
                plan.fresh[key] = name
            }
            accepted = accepted && connection.sendPrepared(name: name, statement.parameters)
            plan.commands.append(.execute(index))
        }
        accepted = accepted && connection.sendSync()
        plan.commands.append(.sync)
        guard accepted else { throw connection.refused() }
    }

    private func remember(_ prepared: [String], _ plan: Plan, failure: LibPQError?, _ statements: [Statement]) {
        let prepared = Set(prepared)
        for (key, name) in plan.fresh where prepared.contains(name) { cache.insert(key, name: name) }
        guard let failure, failure.isStalePlan, let index = failure.statement else { return }
        cache.remove(StatementCache.Key(sql: statements[index].sql, types: statements[index].parameters.types))
    }
}

extension LibPQError {
    /// Whether a prepared statement has become invalid, because a table changed or the server dropped it.
    ///
    /// The session has already removed it from the cache. If no transaction was open, the same call succeeds when
    /// repeated.
    package var isStalePlan: Bool {
        guard code == .server, let diagnostics else { return false }
        // 0A000 means any kind of "not supported". The function identifies "cached plan must not change result type".
        return diagnostics.sqlState == "26000"
            || (diagnostics.sqlState == "0A000" && diagnostics.sourceFunction == "RevalidateCachedQuery")
    }
}
