import Synchronization

/// Remembers that the server refuses to write: it is read-only, its disk is full, or its storage fails.
///
/// Any statement of the daemon that meets it counts. A success does not end it: on a full disk many writes still
/// succeed, because they need no new room.
package final class WriteRefusals: Sendable {
    /// Why the server refuses.
    package struct Refusal: Sendable, Hashable {
        /// As PostgreSQL's manual lists it in Appendix A.
        package let sqlState: String

        /// Nil for a SQLSTATE that says something else.
        package init?(sqlState: String) {
            guard sqlState == "25006" || sqlState == "53100" || sqlState.hasPrefix("58") else { return nil }
            self.sqlState = sqlState
        }

        /// Whether another server, or the same one later, may write on a new connection.
        package var isReadOnly: Bool { sqlState == "25006" }

        /// A sentence for callers and operators.
        package var meaning: String {
            switch sqlState {
            case "25006": "The database is read-only."
            case "53100": "The database's disk is full."
            default: "The database's storage fails."
            }
        }
    }

    private struct State {
        var last: (refusal: Refusal, at: ContinuousClock.Instant)?
        var closedAt: ContinuousClock.Instant?
    }

    /// How long a refusal counts. A quiet daemon writes to disk seldom.
    private static let memory = Duration.seconds(60)
    /// Between two connections that are thrown away: a server that stays read-only is not worn out with new ones.
    private static let pause = Duration.milliseconds(100)

    private let state = Mutex(State())

    init() {}

    /// The last refusal, if it is no older than a minute.
    package func current(at now: ContinuousClock.Instant = .now) -> Refusal? {
        state.withLock { state in
            guard let last = state.last, last.at.duration(to: now) < Self.memory else { return nil }
            return last.refusal
        }
    }

    /// A statement has failed with a SQLSTATE.
    ///
    /// - Returns: Whether its connection is to be closed: it may lead to a server that is a standby now.
    func saw(_ sqlState: String, at now: ContinuousClock.Instant = .now) -> Bool {
        guard let refusal = Refusal(sqlState: sqlState) else { return false }
        return state.withLock { state in
            state.last = (refusal, now)
            guard refusal.isReadOnly else { return false }
            if let closedAt = state.closedAt, closedAt.duration(to: now) < Self.pause { return false }
            state.closedAt = now
            return true
        }
    }
}
