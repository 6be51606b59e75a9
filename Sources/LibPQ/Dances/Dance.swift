import Reactor

/// One operation of the protocol as a state machine over libpq. ``Session`` runs it.
///
/// It calls libpq until libpq would block, then returns what to wait for. It never waits itself, so a loop, a thread or
/// a test can run the same dance.
protocol Dance: Sendable {
    /// Continues as far as possible without blocking.
    mutating func advance(_ connection: ConnectionHandle) -> Step
}

/// The result of one step of a dance.
enum Step {
    /// Call again when the socket is ready for any of these.
    case wait(Interest)
    /// The operation is complete; the dance contains its result.
    case finished
    /// The connection is unusable.
    case broken(LibPQError)
}

/// A dance that an event loop runs to its end.
final class DanceOnLoop<Led: Dance>: @unchecked Sendable {
    // Unchecked, but correct: the task hands the operation and its connection to the loop. It uses them again only
    // after the loop has finished.
    private(set) var dance: Led
    private(set) var step = Step.finished
    private let connection: ConnectionHandle

    init(_ dance: Led, _ connection: ConnectionHandle) {
        self.dance = dance
        self.connection = connection
    }

    /// Makes the next step. Returns what to wait for, or `nil` after the last step.
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
