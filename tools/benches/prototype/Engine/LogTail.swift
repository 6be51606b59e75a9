/// How far this daemon has read the log of changes.
///
/// Transactions become visible in another order than they got their numbers. So the tail never trusts the highest
/// number that it has seen. It reads again from the oldest transaction that was still open at the last look, and leaves
/// out what it has already returned. A late row is never missed and never delays another one.
package struct LogTail: Sendable {
    /// One change in the log.
    package struct Entry: Sendable, Hashable {
        package let transaction: UInt64
        package let activity: Int64
        package let revision: Int64

        package init(transaction: UInt64, activity: Int64, revision: Int64) {
            self.transaction = transaction
            self.activity = activity
            self.revision = revision
        }
    }

    /// Every change of an older transaction was returned. The next look reads from here.
    package private(set) var low: UInt64
    private var returned: Set<Entry> = []

    package init(from low: UInt64) {
        self.low = low
    }

    /// Takes the entries that one statement found from ``low`` on, and the oldest transaction open in its snapshot.
    /// Returns those that no earlier call has returned.
    ///
    /// `asked` are the partitions that the statement asked for, `owned` those that are owned by now. If one of these
    /// was not asked for, the look counts for nothing. Otherwise the changes between its takeover and this look would be
    /// lost.
    package mutating func read(
        _ entries: [Entry],
        oldestOpen: UInt64,
        asked: Set<Int16>,
        owned: Set<Int16>
    ) -> [Entry] {
        guard owned.isSubset(of: asked) else { return [] }
        let fresh = entries.filter { $0.transaction >= low && returned.insert($0).inserted }
        if oldestOpen > low {
            low = oldestOpen
            returned = returned.filter { $0.transaction >= oldestOpen }
        }
        return fresh
    }
}
