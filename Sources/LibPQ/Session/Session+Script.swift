extension Session {
    /// Runs SQL text without parameters, such as a migration. It may contain several commands.
    ///
    /// - Throws: The first failure; the commands after it have not run.
    package func runScript(_ sql: String, until deadline: ContinuousClock.Instant?) async throws(LibPQError) {
        try await operate { (connection) async throws(LibPQError) in
            try await outsidePipeline(connection) { () async throws(LibPQError) in
                guard connection.sendScript(sql) else { throw connection.refused() }
                var dance = DrainDance()
                try await lead(&dance, connection, until: deadline)
                if dance.last?.status == .copyIn || dance.last?.status == .copyOut {
                    throw LibPQError(.misuse, message: "COPY in a script")
                }
                if let failure = dance.failure { throw failure }
            }
        }
    }

    /// Leaves pipeline mode for a call that libpq allows only outside of it, then returns to it.
    func outsidePipeline<R>(
        _ connection: ConnectionHandle,
        _ body: () async throws(LibPQError) -> R
    ) async throws(LibPQError) -> R {
        guard connection.exitPipeline() else { throw connection.refused() }
        do throws(LibPQError) {
            let result = try await body()
            guard connection.enterPipeline() else { throw connection.refused() }
            return result
        } catch {
            if error.code == .server, !connection.enterPipeline() { throw connection.refused() }
            throw error
        }
    }
}

extension ConnectionHandle {
    /// The error of a call that libpq refused.
    func refused() -> LibPQError {
        isBad ? lost() : LibPQError(.misuse, message: errorMessage)
    }
}
