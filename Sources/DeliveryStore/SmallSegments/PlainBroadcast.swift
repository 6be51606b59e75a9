package import APNSTransport
import ActivityModel
import Channels
package import FoundationEssentials
package import Postgres
import Store

/// A leased channel whose whole work is to broadcast one routine change.
///
/// Most changes of a busy day are such: the clock of each of hundreds of matches. A ``SegmentGroup`` reads many in one
/// statement and stores their outcomes in another. A ``ChannelTurn`` does all else for a channel.
///
/// A channel that is behind is served so as well: if it were served alone, whoever falls behind under load would stay behind.
package final class PlainBroadcast: Sendable {
    package let lease: SegmentLease
    /// ``SegmentProgress/wakes`` when it was read.
    package let wakes: Int64
    /// The revision that it broadcast last.
    let begun: Revision
    /// Failures in a row.
    package let failures: Int
    package let activity: ActivitySnapshot
    package let change: ChangeToSend
    package let address: BroadcastAddress

    init(
        _ lease: SegmentLease,
        _ update: RoutineUpdate,
        wakes: Int64,
        begun: Revision,
        failures: Int,
        to address: BroadcastAddress
    ) {
        self.lease = lease
        self.wakes = wakes
        self.begun = begun
        self.failures = failures
        self.address = address
        activity = update.activity
        change = update.change
    }

    /// The columns after those of the ``RoutineUpdate``, in their order.
    private enum Column: Int {
        case wakes, begun, failures, owner, address

        var index: Int { RoutineUpdate.columnCount + rawValue }
    }

    private convenience init?(_ lease: SegmentLease, _ update: RoutineUpdate, _ row: Row) throws {
        guard let address = try BroadcastAddress(row, from: Column.address.index) else { return nil }
        self.init(
            lease,
            update,
            wakes: try row.decode(at: Column.wakes.index),
            begun: try row.decode(at: Column.begun.index),
            failures: Int(try row.decode(Int16.self, at: Column.failures.index)),
            to: address
        )
    }

    /// The revisions to merge into the change once it was sent; nil if the change is the next revision.
    private var jump: ChangeStore.Jump? {
        guard change.revision > begun + 1 else { return nil }
        return ChangeStore.Jump(activityKey: lease.activityKey, after: begun, into: change.revision)
    }

    /// The walk at its end, though nobody was reached.
    package var passed: Carousel {
        var carousel = Carousel(completed: begun)
        carousel.turn(to: change.revision, alert: nil)
        carousel.acknowledge(through: nil, reachedBound: true)
        return carousel
    }

    /// The statements that record the revisions which some broadcasts have jumped over.
    fileprivate static func merges(of broadcasts: [PlainBroadcast]) -> [Query] {
        ChangeStore.merge(broadcasts.compactMap(\.jump), on: SegmentRows.channelSegment)
    }

    /// The push for everybody who listens.
    package func push(signedBy identity: SigningIdentity, deadline: Duration) -> BroadcastPush {
        BroadcastPush(
            environment: activity.environment,
            identity: identity,
            bundleID: activity.bundleID,
            channelID: address.apnsID,
            storage: address.storage,
            priority: PriorityRule.routine.priority,
            expiration: activity.policy.expiration(of: change.kind, at: change.timestamp, storage: address.storage),
            body: LiveActivityRendering(change: change, alert: nil, activity: activity).body(),
            deadline: deadline
        )
    }
}

extension PlainBroadcast {
    /// The leased channels that are in the rows of a ``selection(_:of:)``. The others have more to do, or nothing.
    static func read(_ leases: [SegmentLease], _ rows: Rows) throws -> [PlainBroadcast] {
        try RoutineUpdate.read(rows, of: leases, ownerColumn: Column.owner.index, PlainBroadcast.init)
    }

    /// Selects the plain broadcasts among the channels of some activities that a daemon has leased.
    ///
    /// A broadcast is plain if only routine changes have come since the last one, and no phone is owed a repeat. If an
    /// alert has failed, a walk has begun, and a ``ChannelTurn`` continues it.
    package static func selection(_ keys: [Int64], of daemon: UUID) -> Query {
        """
        SELECT \(unescaped: RoutineUpdate.columns), s.wakes, s.completed_revision, s.failures, s.lease_owner::text,
               channel.*
        FROM unnest(\(keys)) AS l(activity_key)
        CROSS JOIN LATERAL (
            SELECT * FROM segments WHERE activity_key = l.activity_key AND segment = \(SegmentRows.channelSegment)
              AND lease_daemon = \(daemon) AND lease_until > clock_timestamp() OFFSET 0
        ) AS s
        \(unescaped: RoutineUpdate.tables)
        CROSS JOIN LATERAL (
            SELECT \(unescaped: BroadcastAddress.columns) FROM channels AS n
            WHERE n.activity_key = l.activity_key AND \(unescaped: BroadcastAddress.isReady) OFFSET 0
        ) AS channel
        WHERE \(unescaped: RoutineUpdate.condition)
          AND \(unescaped: RestingSegment.hasNo("mode = 'channel' AND d.state = 'due'", orderedBy: "mode, due_at"))
        """
    }
}

extension SegmentStore {
    /// Looks which of the leased segments are plain broadcasts.
    package func plainBroadcasts(among leases: [SegmentLease]) async throws -> [PlainBroadcast] {
        let leases = leases.filter(\.isChannel)
        guard !leases.isEmpty else { return [] }
        let selection = PlainBroadcast.selection(leases.map(\.activityKey), of: daemon)
        guard let rows = try await database.pipeline([.planningOnce, selection]).last else { return [] }
        return try PlainBroadcast.read(leases, rows)
    }

    /// Ends the leases of broadcasts that APNs has accepted, and stores that they were sent.
    ///
    /// One that was given work meanwhile is due at once. If a lease is lost, only this is stored: the change was sent, and
    /// what it jumped over is merged into it. Both stay true, because whoever has the lease sends nothing older.
    ///
    /// - Returns: Whether some are due now.
    package func complete(_ broadcasts: [PlainBroadcast]) async throws -> Bool {
        // Everybody locks changes before segments, and each in the order of the keys: the loop over the broadcasts is
        // the outer one.
        let broadcasts = broadcasts.sorted { $0.lease.activityKey < $1.lease.activityKey }
        let keys = broadcasts.map(\.lease.activityKey)
        let revisions = broadcasts.map(\.change.revision)
        let completed: Query = """
            UPDATE segments AS s
            SET completed_revision = u.revision, failures = 0, pushed_at = clock_timestamp(),
                lease_owner = NULL, lease_until = NULL, retry_at = NULL,
                due_at = CASE WHEN s.wakes <> u.wakes THEN clock_timestamp()
                    ELSE \(unescaped: Self.restOfChannel(at: "u.revision")) END
            FROM unnest(\(keys), \(broadcasts.map(\.lease.owner)), \(revisions), \(broadcasts.map(\.wakes)))
                AS u(activity_key, owner, revision, wakes)
            WHERE \(unescaped: Query.byKey("s", "u", "activity_key")) AND s.segment = \(SegmentRows.channelSegment)
              AND s.lease_owner = u.owner::uuid
            RETURNING coalesce(s.due_at <= clock_timestamp(), false)
            """
        let rows = try await database.withTransaction { connection in
            try await connection.commit(
                [.planningOnce] + PlainBroadcast.merges(of: broadcasts)
                    + [ChangeStore.markSent(revisions, of: keys), completed]
            ).last
        }
        return try rows?.decoded(as: Bool.self).contains(true) == true
    }
}
