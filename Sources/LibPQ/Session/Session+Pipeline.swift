extension Session {
    /// Runs statements in one round trip, as one implicit transaction unless one is open already.
    ///
    /// A statement is prepared the first time and kept under its text and types; preparing rides in the same round
    /// trip.
    ///
    /// - Returns: one result per statement.
    /// - Throws: ``LibPQError/Code/server`` with the index of the statement that failed: the implicit transaction is
    ///   undone. Any other error closes the session, except ``LibPQError/Code/cancelled`` before anything was sent.
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

    /// What was sent, and which statements are being prepared.
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
        // In a segment of its own: it must not share the fate of the statements.
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
    /// Whether a prepared statement has become unusable, because a table changed its shape or the server dropped it.
    ///
    /// It has been forgotten by then: the same call works again if no transaction was open.
    package var isStalePlan: Bool {
        guard code == .server, let diagnostics else { return false }
        // 0A000 is "not supported", of any kind; the function tells "cached plan must not change result type" apart.
        return diagnostics.sqlState == "26000"
            || (diagnostics.sqlState == "0A000" && diagnostics.sourceFunction == "RevalidateCachedQuery")
    }
}
