import Cards
import Channels
import DeliveryStore
import Postgres
import Store

/// An activity that ended so long ago that no phone can show it any more. Gives up everything that is still owed to a
/// phone, so that no retry runs for ever.
struct PastActivity: Sendable {
    let room: DeliveryRoom
    let lease: SegmentLease
    let range: RingRange
    let activity: ActivitySnapshot

    /// Each ring gives up its own cards. The first ring or the channel gives up what exists once. One call takes a part
    /// of many rows.
    ///
    /// - Returns: Whether there may be more.
    func close() async throws -> Bool {
        // Reports lock cards in an order of their own.
        let count = try await room.database.withYieldingTransaction { connection in
            try await connection.commit([.planningOnce, self.cards])[1].count
        }
        guard lease.segment <= SegmentRows.firstRing else { return count > 0 }
        _ = try await room.database.pipeline([
            ChannelRows.deletion(ofPast: activity.key), ChannelRows.withdrawal(of: activity.key),
        ])
        let abandonment = StartAbandonment(database: room.database, activityKey: activity.key)
        let isMore = try await abandonment.run()
        return isMore || count > 0
    }

    /// Cards given up at once.
    private static let atOnce = 2_000

    private var cards: Query {
        SubscriptionRows.abandonment(
            ofPast: activity.key,
            behind: range.after,
            through: range.through,
            limit: Self.atOnce
        )
    }
}
