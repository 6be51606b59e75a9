import APITypes
import ActivityModel
import Synchronization

/// The live parts of pages, as browsers ask for them again after an event.
///
/// Hundreds of people may follow one match. All who may see the same, and have heard of the same event, get one
/// rendering, which was begun after that event.
final class Renewals: Sendable {
    /// The query parameter with the id of the newest event that the browser knows.
    static let parameter = "after"

    /// Who gets the same rendering.
    struct Key: Hashable, Sendable {
        /// The path and query, which names the event.
        let address: String
        let scopes: Set<Scope>
        let app: BundleID?
    }

    private struct Entry {
        let rendering: Task<ConsoleAnswer, Never>
        let expiresAt: Instant
    }

    /// How long a rendering is given out. Times on the page are as old as that.
    private static let lifetimeSeconds: Int64 = 5
    /// Above this number, renderings are not kept.
    private static let most = 200

    private let entries = Mutex<[Key: Entry]>([:])

    /// The rendering for this key: the one that there is, or that of `render`.
    ///
    /// - Returns: Nil if it cannot be shared: a stream runs under the key of one person.
    func answer(
        _ key: Key,
        now: Instant,
        _ render: @escaping @Sendable () async -> ConsoleAnswer
    ) async -> ConsoleAnswer? {
        let rendering = entries.withLock { entries in
            if let entry = entries[key], entry.expiresAt > now { return entry.rendering }
            // It belongs to all who wait for it, and must not end with the first of them.
            let rendering = Task { await render() }
            if entries.count >= Self.most { entries = entries.filter { $0.value.expiresAt > now } }
            if entries.count < Self.most {
                let expiry = Instant(unixSeconds: now.unixSeconds + Self.lifetimeSeconds)
                entries[key] = Entry(rendering: rendering, expiresAt: expiry)
            }
            return rendering
        }
        let answer = await rendering.value
        guard case .bytes = answer.body else {
            entries.withLock { $0[key] = nil }
            return nil
        }
        // An outage is asked about anew.
        if answer.status >= 500 { entries.withLock { $0[key] = nil } }
        return answer
    }
}
