import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// An activity's counts, channels and schedules, each from its own table.
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

    /// Reads the parts of these activities. `revisions`: the newest revision of each key.
    static func read(
        _ revisions: [Int64: Int64],
        counter: DeliveryCounter,
        from database: Database
    ) async throws -> ActivityParts {
        guard !revisions.isEmpty else { return ActivityParts() }
        let keys = Array(revisions.keys)
        var parts = try await readOthers(keys, from: database)
        for (key, count) in try await counter.cards(of: revisions) {
            parts.progress[key, default: DeliveryProgress()].add(count.progress)
            parts.followers[key] = count.followers
        }
        parts.starts = try await counter.starts(of: keys).mapValues(\.progress)
        return parts
    }

    private static func readOthers(_ keys: [Int64], from database: Database) async throws -> ActivityParts {
        let results = try await database.withConnection { connection in
            try await connection.pipeline([channelProgress(keys), channelReferences(keys), openSchedules(keys)])
        }
        var parts = ActivityParts()
        for (key, isCurrent) in try results[0].decoded(as: (Int64, Bool).self) {
            parts.progress[key] = DeliveryProgress(
                destinations: 1,
                current: isCurrent ? 1 : 0,
                pending: isCurrent ? 0 : 1
            )
        }
        for (key, id, apnsID, state) in try results[1].decoded(as: (Int64, String, String?, String).self) {
            parts.channels[key] = ChannelReference(
                id: ChannelID(stored: id),
                apnsChannelID: apnsID.map { APNSChannelID(stored: $0) },
                state: try .stored(state)
            )
        }
        for (key, schedule) in try ScheduleReading.decode(results[2]) {
            parts.schedules[key, default: []].append(schedule)
        }
        return parts
    }

    /// The starts carry the first revision, so the channel has nothing to broadcast then. All the same, nobody has it before
    /// Apple has made the channel. An activity that ended before that has no channel, and no destination in it. Neither has a
    /// hybrid one that does without a channel: nobody listens to it.
    private static func channelProgress(_ keys: [Int64]) -> Query {
        """
        SELECT a.activity_key, g.completed_revision >= a.revision AND NOT EXISTS (
            SELECT FROM channels AS c WHERE c.activity_key = a.activity_key AND \(unescaped: ChannelStanding.isAwaited("c"))
        )
        FROM activities AS a JOIN segments AS g USING (activity_key)
        WHERE a.activity_key = ANY(\(keys)) AND g.segment = \(SegmentRows.channelSegment)
          AND (a.state <> 'ended' OR EXISTS (SELECT FROM channels AS c WHERE c.activity_key = a.activity_key OFFSET 0))
          AND NOT EXISTS (
              SELECT FROM channels AS c
              WHERE c.activity_key = a.activity_key AND \(unescaped: ChannelStanding.isPassedOver("c", of: "a"))
          )
        """
    }

    private static func channelReferences(_ keys: [Int64]) -> Query {
        """
        SELECT DISTINCT ON (c.activity_key) c.activity_key, c.channel_id::text, c.apns_channel_id, c.state::text
        FROM channels AS c WHERE c.activity_key = ANY(\(keys))
        ORDER BY c.activity_key, \(unescaped: ChannelStanding.servingFirst("c"))
        """
    }

    private static func openSchedules(_ keys: [Int64]) -> Query {
        """
        SELECT \(unescaped: ScheduleReading.columns)
        FROM schedules AS s JOIN activities AS a USING (activity_key)
        WHERE s.activity_key = ANY(\(keys)) AND s.state = 'pending' ORDER BY s.due_at
        """
    }
}

extension DeliveryProgress {
    fileprivate mutating func add(_ other: DeliveryProgress) {
        destinations += other.destinations
        current += other.current
        pending += other.pending
        waitingForToken += other.waitingForToken
        waitingToBegin += other.waitingToBegin
        dead += other.dead
        withheld += other.withheld
    }
}
