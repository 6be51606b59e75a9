import Cards
import Channels
import FoundationEssentials
import Postgres
import Store

/// Routine changes to everybody who listens to a channel. A ``ChannelTurn`` does all else for a channel.
extension PlainUpdate {
    /// Selects those among the channels of some activities that a daemon has leased.
    ///
    /// Only routine changes have come since the last broadcast, and no phone is owed a repeat. If an alert has failed, a
    /// walk has begun, and a ``ChannelTurn`` continues it.
    static func selectionOfChannels(_ keys: [Int64], of daemon: UUID) -> Query {
        """
        SELECT \(unescaped: columns), channel.*
        FROM unnest(\(keys)) AS l(activity_key)
        CROSS JOIN LATERAL (
            SELECT * FROM segments AS g WHERE activity_key = l.activity_key AND \(unescaped: SegmentRows.isChannel("g"))
              AND \(part: SegmentRows.isLeased("g", by: daemon)) OFFSET 0
        ) AS s
        \(unescaped: RoutineUpdate.tables)
        CROSS JOIN LATERAL (
            SELECT \(unescaped: BroadcastAddress.columns) FROM channels AS n
            WHERE n.activity_key = l.activity_key AND \(unescaped: BroadcastAddress.isReady) OFFSET 0
        ) AS channel
        WHERE \(unescaped: RoutineUpdate.condition)
          AND \(unescaped: DueCards.noneOnChannel)
        """
    }
}

extension SegmentStore {
    /// Ends the leases of broadcasts that APNs has accepted, and stores that they were sent.
    ///
    /// One that was given work meanwhile is due at once. If a lease is lost, only this is stored: the change was sent, and
    /// what it jumped over is merged into it. Both stay true, because whoever has the lease sends nothing older.
    ///
    /// - Returns: Whether some are due now.
    func completeBroadcasts(_ broadcasts: [PlainUpdate]) async throws -> Bool {
        // Everybody locks changes before segments, and each in the order of the keys: the loop over the broadcasts is
        // the outer one.
        let broadcasts = broadcasts.sorted { $0.lease.activityKey < $1.lease.activityKey }
        let keys = broadcasts.map(\.lease.activityKey)
        let revisions = broadcasts.map(\.change.revision)
        let merges = ChangeStore.merge(broadcasts.jumps, on: SegmentRows.channelSegment)
        let completed = SegmentRows.completedBroadcasts(
            broadcasts.map(\.lease),
            revisions,
            wakes: broadcasts.map(\.wakes),
            orAt: Self.restOfChannel(at: "u.revision")
        )
        let rows = try await database.withTransaction { connection in
            try await connection.commit(
                [.planningOnce] + merges + [ChangeStore.markSent(revisions, of: keys), completed]
            ).last
        }
        return try rows?.decoded(as: Bool.self).contains(true) == true
    }
}
