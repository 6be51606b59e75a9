/// The prepared statements of one connection, by text and parameter types. When it is full, the least recently used are
/// dropped.
struct StatementCache {
    struct Key: Hashable {
        let sql: String
        let types: [UInt32]

        /// The length of the text distinguishes most statements. Hashing the whole text would cost time at every
        /// execution.
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
    /// Statement names that still exist on the server but are no longer used.
    private(set) var doomed: [String] = []

    /// - Parameter capacity: The maximum number of statements, at least 1.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    var count: Int { entries.count }

    /// The name of a prepared statement.
    mutating func name(for key: Key) -> String? {
        guard let index = entries.index(forKey: key) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// A name for a new prepared statement.
    mutating func newName() -> String {
        names += 1
        return "s\(names)"
    }

    /// Adds a statement that the server has prepared. A full cache drops an eighth of its entries at once, so that the
    /// search for the oldest is rare.
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

    /// Removes an invalid statement, for example after a table has changed.
    mutating func remove(_ key: Key) {
        if let entry = entries.removeValue(forKey: key) { doomed.append(entry.name) }
    }

    /// Returns the names to deallocate, and clears the list.
    mutating func takeDoomed() -> [String] {
        defer { doomed = [] }
        return doomed
    }
}
