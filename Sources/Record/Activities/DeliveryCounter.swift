import APITypes
package import ActivityModel
import Postgres
package import ReportTypes
import Store

/// Counts the cards and the starts of activities.
///
/// One statement counts `pageSize` rows of all activities together, so none takes long. The counts of a large activity
/// may therefore be of moments some seconds apart.
package final class DeliveryCounter: Sendable {
    private let database: Database
    private let pageSize: Int
    private let cards: KeptCounts<Int64, CardCount>
    private let starts: KeptCounts<Int64, StartCount>

    init(
        database: Database,
        pageSize: Int = 50_000,
        largeSize: Int = 20_000,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        self.database = database
        self.pageSize = pageSize
        cards = KeptCounts(largeSize: largeSize, now: now)
        starts = KeptCounts(largeSize: largeSize, now: now)
    }

    /// The cards of these activities. `revisions`: the newest revision of each; nil if it does not matter.
    func cards(of revisions: [Int64: Int64?]) async throws -> [Int64: CardCount] {
        try await cards.counts(of: revisions) { keys in
            var counts: [Int64: CardCount] = [:]
            try await eachPage(of: keys, Self.cards) { try counts[$0, default: CardCount()].add($1) }
            return counts
        }
    }

    /// How many cards follow each of these activities.
    package func followers(of keys: Set<Int64>) async throws -> [Int64: Int] {
        try await cards(of: Dictionary(uniqueKeysWithValues: keys.map { ($0, nil) })).mapValues(\.followers)
    }

    /// The starts of these activities.
    func starts(of keys: [Int64]) async throws -> [Int64: StartCount] {
        try await starts.counts(of: keys) { keys in
            var counts: [Int64: StartCount] = [:]
            try await eachPage(of: keys, Self.starts) { try counts[$0, default: StartCount()].add($1) }
            return counts
        }
    }

    /// The next page of one activity.
    private struct Position {
        let activityKey: Int64
        var after: Int64 = 0
    }

    /// Calls `body` with the rows of each page of each activity.
    ///
    /// `query` makes the statement that reads one page of each of some activities. Its rows begin with the activity's
    /// key, the size of the page and the last key on it. An activity may have several rows.
    private func eachPage(
        of keys: [Int64],
        _ query: ([Position], Int) -> Query,
        _ body: (Int64, Row) throws -> Void
    ) async throws {
        var positions = keys.map { Position(activityKey: $0) }
        while !positions.isEmpty {
            let limit = max(1, pageSize / positions.count)
            let rows = try await database.query(query(positions, limit))
            var next: [Int64: Position] = [:]
            for row in rows {
                let key = try row.decode(Int64.self, at: 0)
                try body(key, row)
                if try row.decode(Int64.self, at: 1) == limit {
                    next[key] = Position(activityKey: key, after: try row.decode(Int64.self, at: 2))
                }
            }
            positions = Array(next.values)
        }
    }

    /// A card is current if the ring has passed it since it carries the newest revision.
    ///
    /// The few rings of an activity are read on their own: joined as a table, all rings of all activities were read for
    /// each.
    private static func cards(_ positions: [Position], limit: Int) -> Query {
        """
        SELECT p.activity_key, c.*, a.revision
        FROM unnest(\(positions.map(\.activityKey)), \(positions.map(\.after))) AS p(activity_key, after)
        JOIN activities AS a USING (activity_key)
        CROSS JOIN LATERAL (
            SELECT count(*), max(s.device_key),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state IN ('riding', 'due')),
                   count(*) FILTER (WHERE \(unescaped: CardStanding.rides("s"))
                       AND \(unescaped: SegmentRows.hasSent("a.revision"))),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state = 'waiting_for_token'),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state = 'dead'),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state IN ('withheld', 'rejected') AND NOT s.waits_to_begin),
                   count(*) FILTER (WHERE s.waits_to_begin),
                   count(*) FILTER (WHERE \(unescaped: CardStanding.listens("s")))
            FROM (
                SELECT activity_key, device_key, mode, state, known_revision,
                       coalesce(\(unescaped: CardStanding.waitsToBegin("o")), false) AS waits_to_begin
                FROM subscriptions AS o
                WHERE activity_key = p.activity_key AND device_key > p.after
                ORDER BY device_key LIMIT \(limit)
            ) AS s LEFT JOIN (
                SELECT * FROM segments WHERE activity_key = p.activity_key OFFSET 0
            ) AS g ON \(unescaped: SegmentRows.isRing(of: "s"))
        ) AS c
        """
    }

    /// The starts of a page, by their state and, for starts that were not sent, the reason.
    private static func starts(_ positions: [Position], limit: Int) -> Query {
        """
        WITH page AS MATERIALIZED (
            SELECT p.activity_key, s.* FROM unnest(\(positions.map(\.activityKey)), \(positions.map(\.after))) AS p(activity_key, after)
            CROSS JOIN LATERAL (
                SELECT device_key, state::text, attempts, CASE WHEN state IN ('withheld', 'failed') THEN reason END AS reason
                FROM starts WHERE activity_key = p.activity_key AND device_key > p.after
                ORDER BY device_key LIMIT \(limit)
            ) AS s
        )
        SELECT activity_key, extent.size, extent.last, state, reason, count(*), count(*) FILTER (WHERE attempts > 1)
        FROM page JOIN (
            SELECT activity_key, count(*) AS size, max(device_key) AS last FROM page GROUP BY activity_key
        ) AS extent USING (activity_key)
        GROUP BY activity_key, extent.size, extent.last, state, reason
        """
    }
}

/// How far the newest revision of one activity has come with its cards.
struct CardCount: RowCount {
    private(set) var rows = 0
    private(set) var revision: Int64 = 0
    /// The tokens. A channel is not among them.
    private(set) var progress = DeliveryProgress()
    /// The cards on the channel.
    private(set) var followers = 0

    fileprivate mutating func add(_ row: Row) throws {
        rows += try row.decode(Int.self, at: 1)
        let destinations = try row.decode(Int.self, at: 3)
        let current = try row.decode(Int.self, at: 4)
        progress.destinations += destinations
        progress.current += current
        progress.pending += destinations - current
        progress.waitingForToken += try row.decode(Int.self, at: 5)
        progress.dead += try row.decode(Int.self, at: 6)
        progress.withheld += try row.decode(Int.self, at: 7)
        progress.waitingToBegin += try row.decode(Int.self, at: 8)
        followers += try row.decode(Int.self, at: 9)
        // Each page may have seen another one.
        let newest = try row.decode(Int64.self, at: 10)
        revision = revision == 0 ? newest : min(revision, newest)
    }
}

/// The outcomes of the starts of one activity.
struct StartCount: RowCount {
    private(set) var rows = 0
    private(set) var progress = StartProgress()

    fileprivate mutating func add(_ row: Row) throws {
        let count = try row.decode(Int.self, at: 5)
        rows += count
        progress.count(
            try .stored(row.decode(at: 3)),
            because: try row.decode(at: 4),
            count,
            repeated: try row.decode(at: 6)
        )
    }
}

extension UserStart.State {
    /// The state of a start, as people read it.
    package init(_ state: StartStateMachine.State) {
        self =
            switch state {
            case .pending, .claimed: .pending
            case .unknown: .unanswered
            case .sent: .sent
            case .settled: .confirmed
            case .withheld: .withheld
            case .failed: .failed
            case .cancelled: .cancelled
            }
    }
}

extension StartProgress {
    /// Adds a number of starts in one state for one reason.
    fileprivate mutating func count(
        _ state: StartStateMachine.State,
        because reason: String?,
        _ count: Int,
        repeated: Int
    ) {
        self.repeated += repeated
        switch UserStart.State(state) {
        case .pending: pending += count
        case .unanswered: unanswered += count
        case .sent: sent += count
        case .confirmed: confirmed += count
        case .withheld: withheld += count
        case .failed: failed += count
        case .cancelled: break
        }
        if let reason { reasons[reason, default: 0] += count }
    }
}
