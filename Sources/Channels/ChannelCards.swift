import ActivityModel
import Cards
import Postgres
import Store

/// The cards that listen to a channel, a batch at a time: no statement and no lock grows with how many they are.
struct ChannelCards: Sendable {
    let database: Database
    /// Cards that one statement reads or locks.
    let batchSize: Int

    /// How many cards of a channel can still be told something.
    func count(of id: ChannelID) async throws -> Int {
        var (after, total): (Int64, Int64) = (0, 0)
        while true {
            let rows = try await database.query(
                """
                SELECT count(*) FILTER (WHERE \(unescaped: CardStanding.listens("stretch"))), count(*), max(device_key)
                FROM (
                    SELECT s.device_key, s.mode, s.state FROM subscriptions AS s
                    WHERE s.activity_key = (SELECT activity_key FROM channels WHERE channel_id = \(id.rawValue)::uuid)
                      AND s.device_key > \(after)
                    ORDER BY s.device_key LIMIT \(batchSize)
                ) AS stretch
                """
            )
            guard let (found, read, last) = try rows.first(as: (Int64, Int64, Int64?).self) else { break }
            total += found
            guard let last, read == batchSize else { break }
            after = last
        }
        return Int(total)
    }

    /// Ends a batch of the cards that listened to a channel when it was lost. Cards that reported later listen to its
    /// replacement.
    ///
    /// The progress is stored with each batch, so any daemon can resume there.
    ///
    /// - Parameter id: The channel; nil for any lost channel that has cards left and no daemon at work on it.
    /// - Returns: Whether there may be more; false also while another daemon works on it.
    /// - Throws: ``PostgresError``.
    func endSome(of id: ChannelID? = nil) async throws -> Bool {
        // Cards are locked in the order in which everybody locks them (``CardKey``).
        let rows = try await database.query(
            """
            WITH lost AS MATERIALIZED (
                SELECT channel_id, activity_key, lost_at, ended_through FROM channels
                WHERE ended_through IS NOT NULL AND (\(id == nil) OR channel_id = \(id?.rawValue)::uuid)
                LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
            ), stretch AS MATERIALIZED (
                SELECT s.device_key FROM lost CROSS JOIN LATERAL (
                    SELECT device_key FROM subscriptions
                    WHERE activity_key = lost.activity_key AND device_key > lost.ended_through
                    ORDER BY device_key LIMIT \(batchSize)
                ) AS s
            ), held AS MATERIALIZED (
                SELECT s.activity_key, s.device_key FROM subscriptions AS s
                WHERE s.activity_key = (SELECT activity_key FROM lost)
                  AND s.device_key = ANY (ARRAY(SELECT device_key FROM stretch))
                  AND \(unescaped: CardStanding.listens("s"))
                  AND s.registered_at < (SELECT lost_at FROM lost)
                ORDER BY s.device_key FOR NO KEY UPDATE
            ), ended AS (
                \(unescaped: SubscriptionRows.overOnLostChannel("held"))
            )
            UPDATE channels AS c SET ended_through = (
                SELECT CASE WHEN count(*) = \(batchSize) THEN max(device_key) END FROM stretch
            )
            FROM lost WHERE c.channel_id = lost.channel_id
            RETURNING true
            """
        )
        return try rows.single(Bool.self) ?? false
    }
}
