import Reactor

extension Session {
    /// Returns the notifications that have arrived. Otherwise it waits for the first one until the deadline, and
    /// may return an empty list.
    ///
    /// - Throws: ``LibPQError/Code/connectionLost`` or ``LibPQError/Code/cancelled``. Both close the session.
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
                    // A timeout without notifications is not a failure.
                    guard error.code == .timedOut else { throw error }
                    return []
                }
            }
        }
    }
}
