import Reactor

extension Session {
    /// The notifications that have arrived; waits for the first one until the deadline, then returns none.
    ///
    /// - Throws: ``LibPQError/Code/connectionLost`` or ``LibPQError/Code/cancelled``; the session is closed then.
    package func notifications(
        until deadline: ContinuousClock.Instant?
    ) async throws(LibPQError) -> [NotificationMessage] {
        try await operate { (connection) async throws(LibPQError) in
            while true {
                guard connection.consumeInput(), !connection.isBad else { throw connection.lost() }
                var messages: [NotificationMessage] = []
                while let message = connection.nextNotification() { messages.append(message) }
                if !messages.isEmpty { return messages }
                do throws(LibPQError) {
                    try await wait(connection, .read, until: deadline)
                } catch {
                    // Silence is no failure.
                    guard error.code == .timedOut else { throw error }
                    return []
                }
            }
        }
    }
}
