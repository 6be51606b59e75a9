import Reactor

extension Session {
    /// Sends rows with the command `COPY … FROM STDIN` in `sql`, which names the format of the bytes.
    ///
    /// `next` returns the next chunk of bytes, or `nil` at the end. It is called after the chunk before has been sent.
    ///
    /// - Returns: The number of rows.
    /// - Throws: ``LibPQError/Code/server`` if the server refuses a row; then it keeps no row of this COPY.
    package func copyIn(
        _ sql: String,
        until deadline: ContinuousClock.Instant?,
        next: () -> [UInt8]?
    ) async throws(LibPQError) -> Int {
        try await operate { (connection) async throws(LibPQError) in
            try await outsidePipeline(connection) { () async throws(LibPQError) in
                try await startCopy(sql, connection, until: deadline)
                while let chunk = next() {
                    try await queue(connection, until: deadline) { connection.putCopyData(chunk) }
                    // One chunk at a time, so that at most one waits in memory.
                    var dance = SendDance()
                    try await lead(&dance, connection, until: deadline)
                }
                try await queue(connection, until: deadline) { connection.putCopyEnd() }
                var dance = DrainDance()
                try await lead(&dance, connection, until: deadline)
                if let failure = dance.failure { throw failure }
                return dance.last?.affectedRows ?? 0
            }
        }
    }

    private func startCopy(
        _ sql: String,
        _ connection: ConnectionHandle,
        until deadline: ContinuousClock.Instant?
    ) async throws(LibPQError) {
        guard connection.sendScript(sql) else { throw connection.refused() }
        var dance = DrainDance()
        try await lead(&dance, connection, until: deadline)
        if let failure = dance.failure { throw failure }
        guard dance.last?.status == .copyIn else { throw LibPQError(.misuse, message: "not a COPY … FROM STDIN") }
    }

    private func queue(
        _ connection: ConnectionHandle,
        until deadline: ContinuousClock.Instant?,
        _ put: () -> ConnectionHandle.Copying
    ) async throws(LibPQError) {
        while true {
            switch put() {
            case .queued: return
            case .full: try await wait(connection, .write, until: deadline)
            case .failed: throw connection.refused()
            }
        }
    }
}
