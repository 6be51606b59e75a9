package import ActivityModel
package import Postgres
import Store

/// Counts the followers of topics, without a lock.
///
/// Each statement counts a page of followers, so none takes long. It reads one range of an index for each topic, and
/// nothing else. The counts of a topic with many followers may therefore be of moments some seconds apart. They are kept
/// for a while (``KeptCounts``).
package final class TopicCounter: Sendable {
    /// How many follow a topic.
    package struct Count: RowCount, Equatable {
        /// Each counts once, whatever devices the user has.
        package private(set) var users = 0
        package private(set) var devices = 0

        package var rows: Int { users + devices }

        package init(users: Int = 0, devices: Int = 0) {
            (self.users, self.devices) = (users, devices)
        }

        fileprivate mutating func add(_ rows: Int, devices: Int) {
            users += rows - devices
            self.devices += devices
        }
    }

    private struct Name: Hashable, Comparable {
        let app: BundleID
        let topic: Topic

        static func < (one: Name, other: Name) -> Bool { (one.app, one.topic) < (other.app, other.topic) }
    }

    private let database: Database
    private let pageSize: Int
    private let enough: Int
    private let kept: KeptCounts<Name, Count>

    /// - Parameters:
    ///   - database: Where the followers are.
    ///   - pageSize: How many followers one statement counts.
    ///   - enough: After so many followers, counting stops as soon as one topic is done.
    ///   - largeSize: The counts of topics with so many followers are kept.
    ///   - now: The clock for that.
    package init(
        database: Database,
        pageSize: Int,
        enough: Int = 2_000_000,
        largeSize: Int = 20_000,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        self.database = database
        self.pageSize = pageSize
        self.enough = enough
        kept = KeptCounts(largeSize: largeSize, now: now)
    }

    /// The followers of topics of an app. If there are very many, the topics behind the first ones are left out.
    package func counts(of topics: [Topic], in app: BundleID) async throws -> [Topic: Count] {
        let names = topics.map { Name(app: app, topic: $0) }
        let counts = try await kept.counts(of: names) { keys in
            let missing = Set(keys)
            return try await count(names.filter { missing.contains($0) }, in: app)
        }
        return Dictionary(uniqueKeysWithValues: counts.map { ($0.key.topic, $0.value) })
    }

    private func count(_ names: [Name], in app: BundleID) async throws -> [Name: Count] {
        var counts: [Name: Count] = [:]
        var rest = names[...]
        // Of the first of the rest, up to the follower that was counted last.
        var count = Count()
        var last: Int64 = 0
        var total = 0
        while !rest.isEmpty, counts.isEmpty || total < enough {
            let page = Self.page(of: rest.map(\.topic.rawValue), in: app, after: last, size: pageSize)
            let ranges = try await database.query(page).decoded(as: (Int, Int, Int64?).self)
            let size = ranges.reduce(0) { $0 + $1.0 }
            total += size
            for (place, (rows, devices, end)) in ranges.enumerated() {
                count.add(rows, devices: devices)
                if size == pageSize, place == ranges.count - 1 {
                    last = end ?? last
                } else {
                    counts[rest.removeFirst()] = count
                    count = Count()
                }
            }
        }
        return counts
    }

    /// Counts followers of one topic after the other until there are `size`: all of them, the single devices among
    /// them, and the key of the last. The followers of the first topic come after one of them.
    private static func page(of topics: [String], in app: BundleID, after last: Int64, size: Int) -> Query {
        """
        WITH RECURSIVE step(place, size, devices, last, total) AS (
            SELECT 0, 0::bigint, 0::bigint, NULL::bigint, 0::bigint
            UNION ALL
            SELECT s.place + 1, f.size, f.devices, f.last, s.total + f.size
            FROM step AS s CROSS JOIN LATERAL (
                SELECT count(*) AS size, count(device_key) AS devices, max(follow_key) AS last FROM (
                    SELECT follow_key, device_key FROM topic_follows
                    WHERE bundle_id = \(app.rawValue) AND topic = (\(topics))[s.place + 1]
                      AND follow_key > CASE s.place WHEN 0 THEN \(last) ELSE 0 END
                    ORDER BY bundle_id, topic, follow_key LIMIT \(size) - s.total
                ) AS page
            ) AS f
            WHERE s.place < \(topics.count) AND s.total < \(size)
        )
        SELECT size, devices, last FROM step WHERE place > 0 ORDER BY place
        """
    }
}
