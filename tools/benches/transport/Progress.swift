import APNSTransport
import Foundation
import Synchronization

/// What became of the pushes of a measurement.
struct Tally: Sendable, Codable {
    var requests = 0
    var accepted = 0
    /// By class of outcome.
    var exceptions: [String: Int] = [:]
    /// The memory in use, in KiB, after so many pushes.
    var memory: [Int: Int] = [:]
}

/// The pushes that are still to be sent, and the tally of those that are settled. For any task.
final class Progress: Sendable {
    /// After how many pushes the memory in use is looked at.
    private static let memoryMarks = [100_000, 500_000, 1_000_000, 1_500_000, 2_000_000]

    private struct State {
        var left: Int
        var tally = Tally()
    }

    private let state: Mutex<State>

    init(count: Int) {
        state = Mutex(State(left: count))
    }

    var tally: Tally { state.withLock(\.tally) }

    /// Takes up to `chunk` pushes to send them; nil when there are none.
    func take(_ chunk: Int) -> Int? {
        state.withLock { state in
            let size = min(chunk, state.left)
            state.left -= size
            return size > 0 ? size : nil
        }
    }

    func settle(_ outcome: BatchOutcome) {
        state.withLock { state in
            let before = state.tally.requests
            state.tally.requests += outcome.count
            state.tally.accepted += outcome.accepted
            for exception in outcome.exceptions {
                state.tally.exceptions[exception.outcome.class.name, default: 0] += 1
            }
            let after = state.tally.requests
            if let mark = Self.memoryMarks.last(where: { $0 > before && $0 <= after }) {
                state.tally.memory[mark] = Self.memoryInUse()
            }
        }
    }

    /// The resident memory of this process in KiB; nil where /proc does not tell.
    private static func memoryInUse() -> Int? {
        guard let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii).split(separator: " "),
            pages.count > 1, let resident = Int(pages[1])
        else { return nil }
        return resident * Int(getpagesize()) / 1024
    }
}
