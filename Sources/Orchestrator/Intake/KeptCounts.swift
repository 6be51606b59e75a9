import Synchronization

/// The counts of one activity.
protocol RowCount: Sendable {
    /// How many rows were read for it.
    var rows: Int { get }
    /// The newest revision when it was counted.
    var revision: Int64 { get }
}

/// Keeps the counts of large activities for ten times as long as counting took.
///
/// A page that renews itself every second therefore costs the database a tenth of a core at most.
final class KeptCounts<Count: RowCount>: Sendable {
    /// Activities with fewer rows are counted each time.
    private let largeSize: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let entries = Mutex<[Int64: Entry]>([:])

    private struct Entry {
        let count: Count
        let end: ContinuousClock.Instant
    }

    init(largeSize: Int, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.largeSize = largeSize
        self.now = now
    }

    /// The counts of these activities. `count` counts those with these keys.
    ///
    /// `revisions` holds the newest revision of each activity. Counts of an older one are not taken. Nil: any will do.
    func counts(
        of revisions: [Int64: Int64?],
        _ count: ([Int64]) async throws -> [Int64: Count]
    ) async throws -> [Int64: Count] {
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

    private func keep(_ counts: [Int64: Count], since began: ContinuousClock.Instant) {
        guard !counts.isEmpty else { return }
        let time = now()
        let end = time + min((time - began) * 10, .seconds(30))
        entries.withLock { entries in
            entries = entries.filter { $0.value.end > time }
            for (key, count) in counts { entries[key] = Entry(count: count, end: end) }
        }
    }
}
