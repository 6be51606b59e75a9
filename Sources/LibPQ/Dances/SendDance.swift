import Reactor

/// Writes everything that libpq has queued to the socket.
struct SendDance: Dance {
    mutating func advance(_ connection: ConnectionHandle) -> Step {
        switch connection.flush() {
        case .done: return .finished
        case .failed: return .broken(connection.lost())
        case .pending:
            // The server may have to write answers before it reads more. Without reading, both sides would wait
            // forever.
            guard connection.consumeInput() else { return .broken(connection.lost()) }
            return .wait([.read, .write])
        }
    }
}
