import Reactor

/// Gets everything that libpq has queued onto the socket.
struct SendDance: Dance {
    mutating func advance(_ connection: ConnectionHandle) -> Step {
        switch connection.flush() {
        case .done: return .finished
        case .failed: return .broken(connection.lost())
        case .pending:
            // The server may have to get rid of answers before it reads more: without reading, both sides would wait
            // for ever.
            guard connection.consumeInput() else { return .broken(connection.lost()) }
            return .wait([.read, .write])
        }
    }
}
