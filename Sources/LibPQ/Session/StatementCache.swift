/// Which statements are prepared on one connection, by their text and parameter types; the least used go first.
struct StatementCache {
    struct Key: Hashable {
        let sql: String
        let types: [UInt32]

        /// The length of the text tells most statements apart; the whole of it would be read for every execution.
        func hash(into hasher: inout Hasher) {
            hasher.combine(sql.utf8.count)
            hasher.combine(types)
        }
    }

    private struct Entry {
        let name: String
        var lastUse: UInt64
    }

    private let capacity: Int
    private var entries: [Key: Entry] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0
    /// Names that the server still holds and nobody will use again.
    private(set) var doomed: [String] = []

    /// - Parameter capacity: statements kept at most, at least 1.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    var count: Int { entries.count }

    /// The name under which a statement is prepared.
    mutating func name(for key: Key) -> String? {
        guard let index = entries.index(forKey: key) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// A name for a statement that is about to be prepared.
    mutating func newName() -> String {
        names += 1
        return "s\(names)"
    }

    /// The server has prepared a statement. Where the cache is full, an eighth of it goes at once, so that the search
    /// for the oldest is rare.
    mutating func insert(_ key: Key, name: String) {
        uses += 1
        entries[key] = Entry(name: name, lastUse: uses)
        guard entries.count > capacity else { return }
        let excess = entries.count - capacity + capacity / 8
        for (key, entry) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }).prefix(excess) {
            entries[key] = nil
            doomed.append(entry.name)
        }
    }

    /// The statement is of no use any more, for example because a table has changed its shape.
    mutating func remove(_ key: Key) {
        if let entry = entries.removeValue(forKey: key) { doomed.append(entry.name) }
    }

    /// Hands over the names to be deallocated.
    mutating func takeDoomed() -> [String] {
        defer { doomed = [] }
        return doomed
    }
}
