import Synchronization

/// Values that are believed for a short while, then looked up again.
///
/// When a value expires, the first to ask is told to look it up and the others go on with it for a grace time, so that
/// a popular value is looked up once and not by everybody at the same moment. A value that is older than that nobody
/// goes on with.
package final class ExpiringCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What the cache knows.
    package enum Lookup {
        case fresh(Value)
        /// No longer believed: the caller looks it up again, and may compare.
        case outdated(Value)
        case missing

        /// What is known, believed or not.
        package var value: Value? {
            switch self {
            case .fresh(let value), .outdated(let value): value
            case .missing: nil
            }
        }
    }

    private struct Entry {
        let value: Value
        let stored: ContinuousClock.Instant
        /// Whether somebody was told to look it up.
        var isBeingLookedUp = false
    }

    private struct State {
        /// What was stored since the last turn.
        var entries: [Key: Entry] = [:]
        /// What was stored between the last two turns, and not again since: at the next nobody may go on with it.
        var older: [Key: Entry] = [:]
        var turned: ContinuousClock.Instant?
        var generation = 0

        var count: Int { entries.count + older.count }

        /// - Returns: What is let go.
        mutating func turn(at time: ContinuousClock.Instant) -> [Key: Entry] {
            defer { (older, entries, turned) = (entries, [:], time) }
            return older
        }
    }

    private let lifetime: Duration
    private let grace: Duration
    private let limit: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())

    /// - Parameters:
    ///   - lifetime: how long a value is believed.
    ///   - grace: how much longer the others go on with it while one of them looks it up.
    ///   - limit: the most values kept; when there are more, the expired ones go, and if that is not enough, all. Those
    ///     that are stored no more go by and by also below it.
    ///   - now: the clock.
    package init(
        lifetime: Duration,
        grace: Duration = .milliseconds(500),
        limit: Int,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.lifetime = lifetime
        self.grace = grace
        self.limit = limit
        self.now = now
    }

    package func lookUp(_ key: Key) -> Lookup {
        let time = now()
        return state.withLock { state in
            guard let entry = state.entries[key] ?? state.older[key] else { return .missing }
            let end = entry.stored + lifetime
            if time < end || entry.isBeingLookedUp && time < end + grace { return .fresh(entry.value) }
            state.entries[key]?.isBeingLookedUp = true
            state.older[key]?.isBeingLookedUp = true
            return .outdated(entry.value)
        }
    }

    /// How often everything was removed: to be asked before a value is looked up that may be stored.
    package var generation: Int { state.withLock { $0.generation } }

    /// Keeps a value, unless everything was removed since it began to be looked up: it may be older than the reason for
    /// that.
    package func store(_ value: Value, for key: Key, lookedUpIn generation: Int) {
        let time = now()
        // What is let go is freed when nobody waits for the lock any more.
        _ = state.withLock { state -> [Key: Entry] in
            guard state.generation == generation else { return [:] }
            let isTurn = state.turned.map { $0 + lifetime + grace <= time } ?? true
            let gone = isTurn ? state.turn(at: time) : [:]
            state.older[key] = nil
            if state.count >= limit, state.entries[key] == nil {
                state.entries = state.entries.filter { $0.value.stored + lifetime > time }
                state.older = state.older.filter { $0.value.stored + lifetime > time }
                if state.count >= limit { (state.entries, state.older) = ([:], [:]) }
            }
            state.entries[key] = Entry(value: value, stored: time)
            return gone
        }
    }

    package func remove(_ key: Key) {
        state.withLock { state in
            state.entries[key] = nil
            state.older[key] = nil
        }
    }

    package func removeAll() {
        state.withLock { state in
            (state.entries, state.older) = ([:], [:])
            state.generation += 1
        }
    }
}
