package import APNSTransport
package import ActivityModel
package import Channels
import FoundationEssentials
import Postgres
package import Store

/// A leased segment whose whole work is that Apple has to make its channel.
///
/// Many activities start at the same time: the matches of a Saturday afternoon. A ``SegmentGroup`` reads many in one
/// statement, asks Apple for all at the same time, and stores what Apple has made in one transaction.
package struct ChannelToMake: Sendable {
    package let lease: SegmentLease
    /// ``SegmentProgress/wakes`` when it was read.
    let wakes: Int64
    /// Failures in a row.
    package let failures: Int
    package let app: BundleID
    package let environment: APNSEnvironment
    package let delivery: Delivery
    package let id: ChannelID
    package let storage: ChannelStorage

    package init(
        lease: SegmentLease,
        wakes: Int64,
        failures: Int,
        app: BundleID,
        environment: APNSEnvironment,
        delivery: Delivery,
        id: ChannelID,
        storage: ChannelStorage
    ) {
        self.lease = lease
        self.wakes = wakes
        self.failures = failures
        self.app = app
        self.environment = environment
        self.delivery = delivery
        self.id = id
        self.storage = storage
    }
}

/// A channel that Apple has made for an activity.
package struct MadeChannel: Sendable {
    package let wanted: ChannelToMake
    let apnsID: APNSChannelID
    /// The key that signed the request for it. The app may be deleted before it is stored.
    let identity: SigningIdentity

    package init(wanted: ChannelToMake, apnsID: APNSChannelID, identity: SigningIdentity) {
        self.wanted = wanted
        self.apnsID = apnsID
        self.identity = identity
    }

    /// The channel as long as it is not stored.
    package var atApple: AppleChannel {
        AppleChannel(wanted.app, wanted.environment, wanted.storage, apnsID, signing: identity)
    }
}

extension ChannelToMake {
    /// The leased channels that are in the rows of a ``selection(_:of:)``.
    static func read(_ leases: [SegmentLease], _ rows: Rows) throws -> [SmallSegment] {
        let byOwner = Dictionary(leases.map { ($0.owner, $0) }) { first, _ in first }
        return try rows.compactMap { row in
            let lease = byOwner[try row["lease_owner"]]
            return try lease.map { .channel(try ChannelToMake($0, row)) }
        }
    }

    private init(_ lease: SegmentLease, _ row: Row) throws {
        self.lease = lease
        wakes = try row["wakes"]
        failures = Int(try row["failures"] as Int16)
        app = BundleID(stored: try row["bundle_id"])
        environment = try .stored(row["environment"])
        delivery = try .stored(row["delivery"])
        id = ChannelID(stored: try row["channel_id"])
        storage = try .stored(row["storage"])
    }

    /// Selects those of some activities whose channels a daemon has leased.
    static func selection(_ keys: [Int64], of daemon: UUID) -> Query {
        """
        SELECT s.lease_owner::text, s.wakes, s.failures, a.bundle_id, a.environment::text, a.delivery::text,
               n.channel_id::text, n.storage::text
        FROM unnest(\(keys)) AS l(activity_key)
        CROSS JOIN LATERAL (
            SELECT * FROM segments AS g WHERE activity_key = l.activity_key AND \(unescaped: SegmentRows.isChannel("g"))
              AND \(part: SegmentRows.isLeased("g", by: daemon)) OFFSET 0
        ) AS s
        CROSS JOIN LATERAL (SELECT * FROM activities WHERE activity_key = l.activity_key OFFSET 0) AS a
        CROSS JOIN LATERAL (
            SELECT channel_id, storage FROM channels AS c
            WHERE activity_key = l.activity_key AND \(unescaped: ChannelStanding.serves("c")) AND state = 'creating' OFFSET 0
        ) AS n
        WHERE a.state = 'live' AND \(unescaped: SegmentStore.isNotHalted)
        """
    }
}

extension SegmentStore {
    /// The outcome of storing channels that Apple has made.
    package struct Kept: Sendable {
        /// The channels that their activities have got. For the others, another daemon was faster or the channel is not
        /// needed any more.
        package let stored: Set<ChannelID>
        /// Whether some segments are due now.
        package let mayHaveMore: Bool
    }

    /// Stores channels that Apple has made for activities, and ends their leases.
    ///
    /// A segment that has something to broadcast is due at once. So is one whose lease is lost: who has it may have looked
    /// before this was stored.
    package func keep(_ made: [MadeChannel]) async throws -> Kept {
        let made = made.sorted { $0.wanted.lease.activityKey < $1.wanted.lease.activityKey }
        let leases = made.map(\.wanted.lease)
        let stored = ChannelRows.made(made.map(\.wanted.id), as: made.map(\.apnsID))
        // Locks before looking for starts: a worker that finds no channel yet cannot rest until this is committed.
        let held: Query = """
            SELECT FROM segments
            WHERE activity_key = ANY(\(leases.map(\.activityKey))) AND segment <= \(SegmentRows.firstRing)
            ORDER BY activity_key, segment FOR NO KEY UPDATE
            """
        let woken = SegmentRows.wake(channelsMade: leases, unless: ActivitySnapshot.hasNoStartToSend)
        let rest = Self.restOfChannel(at: "s.completed_revision")
        let ended = SegmentRows.channelsMade(leases, wakes: made.map(\.wanted.wakes), orAt: rest)
        let results = try await database.withTransaction { connection in
            try await connection.commit([.planningOnce, stored, held, woken, ended])
        }
        let names = try results[1].decoded(as: String.self)
        let isDue = try results[4].decoded(as: Bool.self).contains(true)
        return Kept(
            stored: Set(names.map { ChannelID(stored: $0) }),
            mayHaveMore: isDue || results[3].affectedRows > 0
        )
    }
}
