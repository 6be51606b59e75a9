import Reactor

/// One operation of the protocol, taken step by step.
///
/// A dance calls libpq until it would block, then says what to wait for. It never waits itself, so the same dance can
/// be led by a loop, a thread or a test.
protocol Dance: Sendable {
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

/// A dance that an event loop leads until it is over.
final class DanceOnLoop<Led: Dance>: @unchecked Sendable {
    // Sendable without a check by the compiler: the task that leads the operation hands it to the loop, waits, and
    // touches it again only when the loop has let go of it. The same goes for the connection.
    private(set) var dance: Led
    private(set) var step = Step.finished
    private let connection: ConnectionHandle

    init(_ dance: Led, _ connection: ConnectionHandle) {
        self.dance = dance
        self.connection = connection
    }

    /// Takes the next step: what to wait for then, nil when it was the last.
    func advance() -> Interest? {
        step = dance.advance(connection)
        if case .wait(let interest) = step { return interest }
        return nil
    }
}

extension ConnectionHandle {
    /// The error of a connection that libpq has given up.
    func lost(_ diagnostics: ServerDiagnostics? = nil) -> LibPQError {
        LibPQError(.connectionLost, message: errorMessage, diagnostics: diagnostics)
    }
}
