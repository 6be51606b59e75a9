import Reactor

/// One operation of the protocol, taken step by step.
///
/// A dance calls libpq until it would block, then says what to wait for. It never waits itself, so the same dance can be
/// led by a loop, a thread or a test.
protocol Dance {
    /// Goes on as far as possible without blocking.
    mutating func advance(_ connection: ConnectionHandle) -> Step
}

/// What a dance asks of the one who leads it.
enum Step {
    /// Call again when the socket is ready for any of these.
    case wait(Interest)
    /// The operation is over; the dance has its outcome.
    case finished
    /// The connection cannot be used any more.
    case broken(LibPQError)
}

extension ConnectionHandle {
    /// The error of a connection that libpq has given up.
    func lost(_ diagnostics: ServerDiagnostics? = nil) -> LibPQError {
        LibPQError(.connectionLost, message: errorMessage, diagnostics: diagnostics)
    }
}
