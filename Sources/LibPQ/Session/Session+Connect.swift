package import Reactor

extension Session {
    /// Connects: tries the hosts of `settings` in order, and the addresses of each, until one accepts.
    ///
    /// `deadline` limits all attempts together. `attemptTimeout` limits one lookup and one address. At most
    /// `cacheCapacity` statements stay prepared.
    ///
    /// - Throws: ``LibPQError/Code/unreachable`` with the messages of all attempts, or ``LibPQError/Code/cancelled``.
    package static func connect(
        _ settings: ConnectionSettings,
        loop: EventLoop,
        deadline: ContinuousClock.Instant,
        attemptTimeout: Duration,
        cacheCapacity: Int,
        lookUp: @escaping HostAddresses.LookUp = HostAddresses.system
    ) async throws(LibPQError) -> Session {
        var failures: [String] = []
        var refusals: [String?] = []
        // The remaining attempts, in order. A name is resolved just before its attempt.
        var rest = settings.attempts.map { attempt in
            (parameters: attempt, name: settings.hasAddressesElsewhere ? nil : HostAddresses.name(in: attempt))
        }[...]
        while let (parameters, name) = rest.popFirst() {
            let limit = min(deadline, ContinuousClock.now + attemptTimeout)
            guard limit > ContinuousClock.now else {
                refusals.append(nil)
                break
            }
            do {
                if let name {
                    let addresses = try await BlockingCalls.run(until: limit) { lookUp(name) }
                    rest = HostAddresses.spread(parameters, over: addresses).map { (parameters: $0, name: nil) } + rest
                    continue
                }
                let connection = try await connect(parameters, on: loop, until: limit)
                return try Session(connection, loop: loop, cacheCapacity: cacheCapacity)
            } catch {
                if error.code == .cancelled { throw error }
                failures.append(words(of: error, for: parameters))
                refusals.append(error.refusal)
            }
        }
        if failures.isEmpty { failures.append("no time left") }
        let refusal = refusals.contains(nil) ? nil : refusals.compactMap(\.self).last
        throw LibPQError(.unreachable, message: failures.joined(separator: "; "), refusal: refusal)
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
        // libpq's rule: wait as if the last poll had returned writing. The socket may change after each poll.
        var interest: Interest = .write
        while true {
            try await wait(connection, interest, on: loop, until: deadline)
            switch try await BlockingCalls.run(until: deadline, { connection.poll() }) {
            case .ready:
                connection.saysLess()
                return connection
            case .failed:
                let refusal = ConnectionRefusal(message: connection.errorMessage)
                throw LibPQError(.unreachable, message: refusal.message, refusal: refusal.sqlState)
            case .reading: interest = .read
            case .writing: interest = .write
            }
        }
    }

    private static func words(of error: LibPQError, for parameters: [ConnectionSettings.Parameter]) -> String {
        if error.code != .timedOut, let message = error.message { return message }
        let places = ["host", "hostaddr"].compactMap { keyword in parameters.last { $0.keyword == keyword }?.value }
        return "connecting to \(places.isEmpty ? "the default host" : places.joined(separator: " at ")): \(error.code)"
    }
}
