import APITypes
import ActivityModel
import JSON
import Postgres

/// What belongs to activities and stands in other tables: counts, channels, schedules.
struct ActivityParts: Sendable {
    private var progress: [Int64: DeliveryProgress] = [:]
    private var starts: [Int64: StartProgress] = [:]
    private var channels: [Int64: ChannelReference] = [:]
    private var schedules: [Int64: [ScheduleResource]] = [:]

    func complete(_ resource: inout ActivityResource, key: Int64) {
        resource.progress = progress[key] ?? DeliveryProgress()
        resource.starts = starts[key] ?? StartProgress()
        resource.channel = channels[key]
        resource.schedules = schedules[key] ?? []
    }

    static func read(_ keys: [Int64], from database: Database) async throws -> ActivityParts {
        guard !keys.isEmpty else { return ActivityParts() }
        let results = try await database.withConnection { connection in
            try await connection.pipeline([
                tokens(keys), channelProgress(keys), startCounts(keys), channelReferences(keys),
                openSchedules(keys),
            ])
        }
        var parts = ActivityParts()
        for (key, destinations, current, waiting, dead, withheld) in try results[0].decoded(
            as: (Int64, Int64, Int64, Int64, Int64, Int64).self
        ) {
            parts.progress[key] = DeliveryProgress(
                destinations: Int(destinations),
                current: Int(current),
                pending: Int(destinations - current),
                waitingForToken: Int(waiting),
                dead: Int(dead),
                withheld: Int(withheld)
            )
        }
        for (key, isCurrent) in try results[1].decoded(as: (Int64, Bool).self) {
            parts.progress[key, default: DeliveryProgress()].destinations += 1
            parts.progress[key, default: DeliveryProgress()].current += isCurrent ? 1 : 0
            parts.progress[key, default: DeliveryProgress()].pending += isCurrent ? 0 : 1
        }
        for (key, state, reason, count, repeated) in try results[2].decoded(
            as: (Int64, String, String?, Int64, Int64).self
        ) {
            parts.starts[key, default: StartProgress()]
                .count(try .stored(state), because: reason, Int(count), repeated: Int(repeated))
        }
        for (key, id, apnsID, state) in try results[3].decoded(as: (Int64, String, String?, String).self) {
            parts.channels[key] = ChannelReference(
                id: ChannelID(stored: id),
                apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
                state: try .stored(state)
            )
        }
        for (key, schedule) in try ScheduleRows.decode(results[4]) {
            parts.schedules[key, default: []].append(schedule)
        }
        return parts
    }

    /// A rider is current if the walk has passed it since it carries the newest revision.
    private static func tokens(_ keys: [Int64]) -> Query {
        """
        SELECT s.activity_key,
               count(*) FILTER (WHERE s.state IN ('riding', 'due')),
               count(*) FILTER (WHERE s.state = 'riding' AND (
                   s.known_revision >= a.revision OR g.completed_revision >= a.revision
                   OR (g.lap_revision >= a.revision
                       AND \(unescaped: SegmentStore.hasPassed("s.device_key", since: "g.lap_origin"))))),
               count(*) FILTER (WHERE s.state = 'waiting_for_token'),
               count(*) FILTER (WHERE s.state = 'dead'),
               count(*) FILTER (WHERE s.state IN ('withheld', 'rejected'))
        FROM subscriptions AS s JOIN activities AS a USING (activity_key)
        JOIN segments AS g ON \(unescaped: SegmentStore.isRing(of: "s"))
        WHERE s.activity_key = ANY(\(keys)) AND s.mode = 'token'
        GROUP BY s.activity_key
        """
    }

    private static func channelProgress(_ keys: [Int64]) -> Query {
        """
        SELECT a.activity_key, g.completed_revision >= a.revision
        FROM activities AS a JOIN segments AS g USING (activity_key)
        WHERE a.activity_key = ANY(\(keys)) AND g.segment = \(SegmentLease.channelSegment)
        """
    }

    private static func startCounts(_ keys: [Int64]) -> Query {
        """
        SELECT activity_key, state::text, CASE WHEN state IN ('withheld', 'failed') THEN reason END AS why,
               count(*), count(*) FILTER (WHERE attempts > 1)
        FROM starts WHERE activity_key = ANY(\(keys)) GROUP BY activity_key, state, why
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
        case .unknown: unknown += count
        case .sent: sent += count
        case .settled: settled += count
        case .withheld: withheld += count
        case .failed: failed += count
        case .cancelled: break
        }
        if let reason { reasons[reason, default: 0] += count }
    }
}
