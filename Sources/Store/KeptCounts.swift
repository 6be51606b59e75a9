import Synchronization

/// The counts of something with many rows, such as an activity.
package protocol RowCount: Sendable {
    /// How many rows were read for it.
    var rows: Int { get }
    /// The newest revision when it was counted.
    var revision: Int64 { get }
}

extension RowCount {
    /// Most are counted the same, whatever the newest revision is.
    package var revision: Int64 { .max }
}

/// Keeps large counts for ten times as long as counting took.
///
/// A page that renews itself every second therefore costs the database a tenth of a core at most.
package final class KeptCounts<Key: Hashable & Comparable & Sendable, Count: RowCount>: Sendable {
    /// Fewer rows are counted each time.
    private let largeSize: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[Key: Entry]>([:])

    private struct Entry {
        let count: Count
        let end: ContinuousClock.Instant
    }

    package init(largeSize: Int, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.largeSize = largeSize
        self.now = now
    }

    /// The counts of these keys. `count` counts some of them, and may leave some out.
    package func counts(of keys: [Key], _ count: ([Key]) async throws -> [Key: Count]) async throws -> [Key: Count] {
        try await counts(of: Dictionary(keys.map { ($0, nil) }) { first, _ in first }, count)
    }

    /// The same. `revisions` holds the newest revision for each key. Counts of an older one are not taken. Nil: any will
    /// do.
    package func counts(
        of revisions: [Key: Int64?],
        _ count: ([Key]) async throws -> [Key: Count]
    ) async throws -> [Key: Count] {
        let began = now()
        let kept = entries.withLock { entries in
            entries.filter { key, entry in
                guard entry.end > began, let revision = revisions[key] else { return false }
                return revision.map { $0 <= entry.count.revision } ?? true
            }
        }.mapValues(\.count)
        let missing = revisions.keys.filter { kept[$0] == nil }.sorted()
        guard !missing.isEmpty else { return kept }
        let counted = try await count(missing)
        keep(counted.filter { $0.value.rows >= largeSize }, since: began)
        return kept.merging(counted) { _, new in new }
    }

    private func keep(_ counts: [Key: Count], since began: ContinuousClock.Instant) {
        guard !counts.isEmpty else { return }
        let time = now()
        let end = time + min((time - began) * 10, .seconds(30))
        entries.withLock { entries in
            entries = entries.filter { $0.value.end > time }
            for (key, count) in counts { entries[key] = Entry(count: count, end: end) }
        }
    }
}
