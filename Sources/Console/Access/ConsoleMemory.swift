import APITypes
import Synchronization

/// What one daemon remembers of visitors: wrong keys, used links and forms, and sessions that were signed out.
final class ConsoleMemory: Sendable {
    /// The wrong keys that one client may try in a row.
    static let wrongKeys = 10
    /// The seconds after which it may try one more.
    static let secondsPerKey: Int64 = 6
    /// Above this number of entries, the oldest ones are dropped.
    private static let most = 10_000

    private struct State {
        /// Per client: until when its wrong keys count, in seconds.
        var wrong: [String: Int64] = [:]
        /// Ids of sessions, links and forms that are over, with the time when they expire anyway.
        var over: [String: Instant] = [:]
    }

    private let state = Mutex(State())
    let rates = Rates()

    /// The seconds until this client may try a key again; nil: now.
    func wait(of client: String, now: Instant) -> Int64? {
        state.withLock { state in
            let excess = (state.wrong[client] ?? 0) - now.unixSeconds - Int64(Self.wrongKeys - 1) * Self.secondsPerKey
            return excess > 0 ? excess : nil
        }
    }

    /// Counts a wrong key.
    func countWrongKey(of client: String, now: Instant) {
        state.withLock { state in
            if state.wrong.count >= Self.most { state.wrong = state.wrong.filter { $0.value > now.unixSeconds } }
            // A full table means an attack from many addresses. Forgetting all limits it less, and keeps the daemon up.
            if state.wrong.count >= Self.most { state.wrong = [:] }
            let until = max(state.wrong[client] ?? 0, now.unixSeconds)
            state.wrong[client] = until + Self.secondsPerKey
        }
    }

    /// Ends a session or uses a link up. False if it was over already.
    @discardableResult
    func end(_ id: String, expiresAt: Instant, now: Instant) -> Bool {
        state.withLock { state in
            if state.over.count >= Self.most { state.over = state.over.filter { $0.value > now } }
            return state.over.updateValue(expiresAt, forKey: id) == nil
        }
    }

    /// Uses up a form that may be sent once. False if it was sent before.
    func use(formOnce id: String, now: Instant) -> Bool {
        // The prefix keeps it apart from the ids of sessions and links.
        let expiry = Instant(unixSeconds: now.unixSeconds + ConsoleSession.lifetimeSeconds)
        return end("form \(id.prefix(64))", expiresAt: expiry, now: now)
    }

    func isOver(_ id: String) -> Bool { state.withLock { $0.over[id] != nil } }
}
