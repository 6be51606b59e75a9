import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// Reads an activity's counts, channels and schedules from their tables.
struct ActivityParts: Sendable {
    private var progress: [Int64: DeliveryProgress] = [:]
    private var starts: [Int64: StartProgress] = [:]
    private var channels: [Int64: ChannelReference] = [:]
    private var followers: [Int64: Int] = [:]
    private var schedules: [Int64: [ScheduleResource]] = [:]

    func complete(_ resource: inout ActivityResource, key: Int64) {
        resource.progress = progress[key] ?? DeliveryProgress()
        let enrolling = resource.starts.enrolling
        resource.starts = starts[key] ?? StartProgress()
        resource.starts.enrolling = enrolling
        resource.channel = channels[key]
        if resource.channel != nil { resource.channel?.followers = followers[key] ?? 0 }
        resource.schedules = schedules[key] ?? []
    }

    /// Reads the parts of these activities.
    ///
    /// One statement counts `pageSize` cards or starts of all activities together, so none takes long. The counts of a
    /// large activity may therefore be of moments some seconds apart.
    static func read(
        _ keys: [Int64],
        from database: Database,
        pageSize: Int = 50_000
    ) async throws -> ActivityParts {
        guard !keys.isEmpty else { return ActivityParts() }
        var parts = try await readOthers(keys, from: database)
        try await eachPage(of: keys, pageSize, tokens, from: database) { try parts.add(tokens: $0, $1) }
        try await eachPage(of: keys, pageSize, starts, from: database) { try parts.add(starts: $0, $1) }
        return parts
    }

    /// The cards on the channels of these activities.
    static func followers(
        of keys: [Int64],
        from database: Database,
        pageSize: Int = 50_000
    ) async throws -> [Int64: Int] {
        var parts = ActivityParts()
        try await eachPage(of: keys, pageSize, tokens, from: database) { try parts.add(tokens: $0, $1) }
        return parts.followers
    }

    private static func readOthers(_ keys: [Int64], from database: Database) async throws -> ActivityParts {
        let results = try await database.withConnection { connection in
            try await connection.pipeline([channelProgress(keys), channelReferences(keys), openSchedules(keys)])
        }
        var parts = ActivityParts()
        for (key, isCurrent) in try results[0].decoded(as: (Int64, Bool).self) {
            parts.progress[key, default: DeliveryProgress()].destinations += 1
            parts.progress[key, default: DeliveryProgress()].current += isCurrent ? 1 : 0
            parts.progress[key, default: DeliveryProgress()].pending += isCurrent ? 0 : 1
        }
        for (key, id, apnsID, state) in try results[1].decoded(as: (Int64, String, String?, String).self) {
            parts.channels[key] = ChannelReference(
                id: ChannelID(stored: id),
                apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
                state: try .stored(state)
            )
        }
        for (key, schedule) in try ScheduleRows.decode(results[2]) {
            parts.schedules[key, default: []].append(schedule)
        }
        return parts
    }

    // MARK: Counting

    /// The next page of one activity.
    private struct Position {
        let activityKey: Int64
        var after: Int64 = 0
    }

    /// Calls `body` with the rows of each page of each activity.
    ///
    /// `query` makes the statement that reads one page of each of some activities. Its rows begin with the activity's
    /// key, the size of the page and the last key on it. An activity may have several rows.
    private static func eachPage(
        of keys: [Int64],
        _ pageSize: Int,
        _ query: ([Position], Int) -> Query,
        from database: Database,
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
    private static func tokens(_ positions: [Position], limit: Int) -> Query {
        """
        SELECT p.activity_key, c.*
        FROM unnest(\(positions.map(\.activityKey)), \(positions.map(\.after))) AS p(activity_key, after)
        JOIN activities AS a USING (activity_key)
        CROSS JOIN LATERAL (
            SELECT count(*), max(s.device_key),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state IN ('riding', 'due')),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state = 'riding' AND (
                       s.known_revision >= a.revision OR g.completed_revision >= a.revision
                       OR (g.lap_revision >= a.revision
                           AND \(unescaped: SegmentRows.hasPassed("s.device_key", since: "g.lap_origin"))))),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state = 'waiting_for_token'),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state = 'dead'),
                   count(*) FILTER (WHERE s.mode = 'token' AND s.state IN ('withheld', 'rejected')),
                   count(*) FILTER (WHERE s.mode = 'channel' AND s.state <> 'over')
            FROM (
                SELECT activity_key, device_key, mode, state, known_revision FROM subscriptions
                WHERE activity_key = p.activity_key AND device_key > p.after
                ORDER BY device_key LIMIT \(limit)
            ) AS s LEFT JOIN segments AS g ON \(unescaped: SegmentRows.isRing(of: "s"))
        ) AS c
        """
    }

    private mutating func add(tokens key: Int64, _ row: Row) throws {
        let destinations = try row.decode(Int.self, at: 3)
        let current = try row.decode(Int.self, at: 4)
        progress[key, default: DeliveryProgress()].destinations += destinations
        progress[key, default: DeliveryProgress()].current += current
        progress[key, default: DeliveryProgress()].pending += destinations - current
        progress[key, default: DeliveryProgress()].waitingForToken += try row.decode(Int.self, at: 5)
        progress[key, default: DeliveryProgress()].dead += try row.decode(Int.self, at: 6)
        progress[key, default: DeliveryProgress()].withheld += try row.decode(Int.self, at: 7)
        followers[key, default: 0] += try row.decode(Int.self, at: 8)
    }

    /// The starts of a page, by their state and the reason of those that were not sent.
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

    private mutating func add(starts key: Int64, _ row: Row) throws {
        starts[key, default: StartProgress()].count(
            try .stored(row.decode(at: 3)),
            because: try row.decode(at: 4),
            try row.decode(at: 5),
            repeated: try row.decode(at: 6)
        )
    }

    private static func channelProgress(_ keys: [Int64]) -> Query {
        """
        SELECT a.activity_key, g.completed_revision >= a.revision
        FROM activities AS a JOIN segments AS g USING (activity_key)
        WHERE a.activity_key = ANY(\(keys)) AND g.segment = \(SegmentRows.channelSegment)
        """
    }

    private static func channelReferences(_ keys: [Int64]) -> Query {
        """
        SELECT activity_key, channel_id::text, apns_channel_id, state::text FROM channels
        WHERE activity_key = ANY(\(keys))
        ORDER BY lost_at NULLS LAST
        """
    }

    private static func openSchedules(_ keys: [Int64]) -> Query {
        """
        SELECT s.activity_key, s.schedule_id::text, a.activity_id, s.kind::text, s.due_at, s.state::text, s.reason
        FROM schedules AS s JOIN activities AS a USING (activity_key)
        WHERE s.activity_key = ANY(\(keys)) AND s.state = 'pending' ORDER BY s.due_at
        """
    }
}

extension StartProgress {
    /// Counts so many starts that are in one state for one reason.
    fileprivate mutating func count(
        _ state: StartStateMachine.State,
        because reason: String?,
        _ count: Int,
        repeated: Int
    ) {
        self.repeated += repeated
        switch state {
        case .pending, .claimed: pending += count
        case .unknown: unanswered += count
        case .sent: sent += count
        case .settled: confirmed += count
        case .withheld: withheld += count
        case .failed: failed += count
        case .cancelled: break
        }
        if let reason { reasons[reason, default: 0] += count }
    }
}
