package import Reactor

extension Session {
    /// Makes a connection: tries the hosts of `settings` in order until one takes it.
    ///
    /// `deadline` is for all hosts together, `attemptTimeout` for one, name resolution included. At most `cacheCapacity`
    /// statements stay prepared.
    ///
    /// - Throws: ``LibPQError/Code/unreachable`` with the words of every attempt, or ``LibPQError/Code/cancelled``.
    package static func connect(
        _ settings: ConnectionSettings,
        loop: EventLoop,
        deadline: ContinuousClock.Instant,
        attemptTimeout: Duration,
        cacheCapacity: Int
    ) async throws(LibPQError) -> Session {
        var failures: [String] = []
        for attempt in settings.attempts {
            let limit = min(deadline, ContinuousClock.now + attemptTimeout)
            guard limit > ContinuousClock.now else { break }
            do {
                let connection = try await connect(attempt, on: loop, until: limit)
                return try Session(connection, loop: loop, cacheCapacity: cacheCapacity)
            } catch {
                if error.code == .cancelled { throw error }
                failures.append(words(of: error, for: attempt))
            }
        }
        if failures.isEmpty { failures.append("no time left") }
        throw LibPQError(.unreachable, message: failures.joined(separator: "; "))
    }

    private static func connect(
        _ parameters: [ConnectionSettings.Parameter],
        on loop: EventLoop,
        until deadline: ContinuousClock.Instant
    ) async throws(LibPQError) -> ConnectionHandle {
        let connection = try await BlockingCalls.run(until: deadline) { () throws(LibPQError) in
            try ConnectionHandle(parameters: parameters)
        }
        guard !connection.isBad else { throw LibPQError(.unreachable, message: connection.errorMessage) }
        // libpq's rule: wait as if the last poll had asked for writing. The socket can be another one after each poll.
        var interest: Interest = .write
        while true {
            try await wait(connection, interest, on: loop, until: deadline)
            switch try await BlockingCalls.run(until: deadline, { connection.poll() }) {
            case .ready: return connection
            case .failed: throw LibPQError(.unreachable, message: connection.errorMessage)
            case .reading: interest = .read
            case .writing: interest = .write
            }
        }
    }

    private static func words(of error: LibPQError, for parameters: [ConnectionSettings.Parameter]) -> String {
        if error.code != .timedOut, let message = error.message { return message }
        let host = parameters.first { $0.keyword == "host" || $0.keyword == "hostaddr" }?.value ?? "the default host"
        return "connecting to \(host): \(error.code)"
    }
}
