import Postgres
import TestSupport

/// Faults of statements in a transaction. A slow statement, or one that waits for a lock, lets time pass while the
/// transaction is open. The server may also cancel a statement, and the transaction is rolled back.
enum Hindrance {
    private enum Kind {
        case slow(now: Int64), cancelled(sqlState: String)
    }

    /// In thousands.
    private static let (slow, cancelled) = (3, 4)

    /// The longest time that a statement takes, in milliseconds.
    static let longestTime: Int64 = 8_000

    static func come(over apple: Apple, _ clock: VirtualClock) async throws(PostgresError) {
        let kind = apple.with { state -> Kind? in
            guard state.areFaultsOn, state.isHindered else { return nil }
            switch Int.random(in: 0..<1_000, using: &state.random) {
            case ..<slow:
                let time = Int64.random(in: 100...longestTime, using: &state.random)
                state.uptime += time
                state.now += time
                state.note("a statement takes \(time) ms")
                return .slow(now: state.now)
            case ..<(slow + cancelled):
                // A statement that took too long, a lock that did not come, a deadlock.
                let sqlState = ["57014", "55P03", "40P01"].randomElement(using: &state.random) ?? "57014"
                state.note("a statement is cancelled: \(sqlState)")
                return .cancelled(sqlState: sqlState)
            default: return nil
            }
        }
        switch kind {
        case .slow(let now):
            // The life cannot go on without a clock.
            do { try await clock.set(now) } catch { throw PostgresError(.connectionLost, message: "no clock") }
        case .cancelled(let sqlState): throw PostgresError(.server, message: "cancelled", sqlState: sqlState)
        case nil: break
        }
    }
}
