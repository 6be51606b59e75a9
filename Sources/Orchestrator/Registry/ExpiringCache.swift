import Synchronization

/// Values that are believed for a short while, then looked up again.
///
/// When a value expires, the first to ask is told to look it up and the others go on with it for a grace time, so that a popular value is
/// looked up once and not by everybody at the same moment. A value that is older than that nobody goes on with.
final class ExpiringCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What the cache knows.
    enum Lookup {
        case fresh(Value)
        /// No longer believed: the caller looks it up again, and may compare.
        case outdated(Value)
        case missing
    }

    private struct Entry {
        var value: Value
        var expires: ContinuousClock.Instant
    }

    private let lifetime: Duration
    private let grace: Duration
    private let limit: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[Key: Entry]>([:])

    /// - Parameters:
    ///   - lifetime: how long a value is believed.
    ///   - grace: how much longer the others go on with it while one of them looks it up.
    ///   - limit: the most values kept; when there are more, the expired ones go, and if that is not enough, all.
    ///   - now: the clock.
    init(
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

    func lookUp(_ key: Key) -> Lookup {
        let time = now()
        return entries.withLock { entries in
            guard let entry = entries[key] else { return .missing }
            if entry.expires > time { return .fresh(entry.value) }
            if entry.expires + grace > time { entries[key]?.expires = entry.expires + grace }
            return .outdated(entry.value)
        }
    }

    func store(_ value: Value, for key: Key) {
        let time = now()
        entries.withLock { entries in
            if entries.count >= limit, entries[key] == nil {
                entries = entries.filter { $0.value.expires > time }
                if entries.count >= limit { entries.removeAll() }
            }
            entries[key] = Entry(value: value, expires: time + lifetime)
        }
    }

    func remove(_ key: Key) {
        entries.withLock { _ = $0.removeValue(forKey: key) }
    }

    func removeAll() {
        entries.withLock { $0.removeAll() }
    }
}
