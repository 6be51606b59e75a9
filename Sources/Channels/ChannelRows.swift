package import ActivityModel
package import Postgres
import Store

/// The statements by which channels change hands.
package enum ChannelRows {
    /// Gives activities a channel each: one that is ready and has never served anyone, or a new one that is to be made.
    package static func assignment(
        to activityKeys: [Int64],
        app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage
    ) -> [Query] {
        [
            """
            WITH free AS MATERIALIZED (
                SELECT channel_id, row_number() OVER (ORDER BY created_at, channel_id) AS place FROM (
                    SELECT channel_id, created_at FROM channels
                    WHERE bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
                      AND storage = \(storage.rawValue)::channel_storage
                      AND state = 'ready' AND activity_key IS NULL AND delete_at IS NULL
                    ORDER BY created_at LIMIT \(activityKeys.count) FOR UPDATE SKIP LOCKED
                ) AS c
            )
            UPDATE channels AS c SET activity_key = w.activity_key
            FROM free JOIN unnest(\(activityKeys)) WITH ORDINALITY AS w(activity_key, place) USING (place)
            WHERE \(unescaped: Query.byKey("c", "free", "channel_id"))
              AND c.channel_id = ANY(ARRAY(SELECT channel_id FROM free))
            """,
            """
            INSERT INTO channels (bundle_id, environment, storage, activity_key)
            SELECT \(app.rawValue), \(environment.rawValue)::apns_environment, \(storage.rawValue)::channel_storage,
                   w.activity_key
            FROM unnest(\(activityKeys)) AS w(activity_key)
            WHERE NOT EXISTS (
                SELECT FROM channels AS c
                WHERE c.activity_key = w.activity_key AND \(unescaped: ChannelStanding.serves("c")) OFFSET 0
            )
            """,
        ]
    }

    /// The statement that stores channels which Apple has made for activities, unless they have got others meanwhile.
    /// It returns the ids of those that are stored.
    package static func made(_ ids: [ChannelID], as apnsIDs: [APNSChannelID]) -> Query {
        let (ids, apnsIDs) = (ids.map(\.rawValue), apnsIDs.map(\.rawValue))
        return """
            UPDATE channels AS c
            SET state = 'ready', apns_channel_id = u.apns_channel_id, ready_at = clock_timestamp(), reason = NULL
            FROM unnest(\(ids)::uuid[], \(apnsIDs)) AS u(channel_id, apns_channel_id)
            WHERE \(unescaped: Query.byKey("c", "u", "channel_id")) AND c.channel_id = ANY(\(ids)::uuid[])
              AND c.state = 'creating'
            RETURNING c.channel_id::text
            """
    }

    /// Records why Apple does not make the channel of an activity.
    ///
    /// - Returns: The statements that report it, for the same transaction. There are none if the reason is known.
    package static func refuse(
        _ id: ChannelID,
        of activityKey: Int64,
        reason: String,
        on connection: PostgresConnection
    ) async throws -> [Query] {
        let isNew = try await connection.execute(
            """
            UPDATE channels SET reason = \(reason)
            WHERE channel_id = \(id.rawValue)::uuid AND reason IS DISTINCT FROM \(reason)
            """
        )
        guard isNew > 0 else { return [] }
        return [EventRows.insertion([.channelRefused(id, of: .activity(key: activityKey), reason: reason)])]
    }

    /// The statement for an activity that ended before its channel was made: it needs none. Apple may have made one all
    /// the same, and the answer was lost. So a sweep has to look, even if the app has no other channel.
    package static func withdrawal(of activityKey: Int64) -> Query {
        """
        WITH withdrawn AS (
            DELETE FROM channels WHERE activity_key = \(activityKey) AND state = 'creating' RETURNING bundle_id, environment
        )
        INSERT INTO channel_sweeps (bundle_id, environment)
        SELECT bundle_id, environment FROM withdrawn JOIN signing_keys USING (bundle_id, environment)
        ON CONFLICT DO NOTHING
        """
    }

    /// Adds a channel that Apple has made and that has never been used. A deletion of the app waits, and then sees it.
    ///
    /// - Throws: ``SigningKeyMissing`` if the deletion was first.
    static func insert(
        _ apnsID: APNSChannelID,
        app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage,
        by query: (Query) async throws -> Rows
    ) async throws -> ChannelID {
        let rows = try await query(
            """
            INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id, ready_at)
            SELECT p.bundle_id, k.environment, \(storage.rawValue)::channel_storage, 'ready', \(apnsID.rawValue),
                   clock_timestamp()
            FROM apps AS p JOIN signing_keys AS k USING (bundle_id)
            WHERE p.bundle_id = \(app.rawValue) AND k.environment = \(environment.rawValue)::apns_environment
            FOR KEY SHARE
            RETURNING channel_id::text
            """
        )
        guard let id = try rows.first(as: String.self) else {
            throw SigningKeyMissing(bundleID: app, environment: environment)
        }
        return ChannelID(stored: id)
    }

    /// An SQL expression: how long Apple's channel API is left alone after another failure beside those in the column
    /// `failures`.
    static let backOff = "least(interval '10 seconds' * (1 << least(failures, 6)), interval '10 minutes')"

    /// Records that a channel is gone at Apple, if it is still one that was to be deleted.
    static func settlement(of id: ChannelID) -> Query {
        """
        UPDATE channels SET state = 'deleted', deleted_at = clock_timestamp(), delete_at = NULL, reason = NULL
        WHERE channel_id = \(id.rawValue)::uuid AND (state = 'deleting' OR (state = 'ready' AND delete_at IS NOT NULL))
        """
    }

    /// The condition on an activity `a` that its starts need not wait for its channel. That is so if the channel
    /// exists, or is not needed. It is also so while a hybrid activity does without it.
    package static let mayStart = """
        (a.delivery = 'tokens' OR EXISTS (
            SELECT FROM channels AS c
            WHERE c.activity_key = a.activity_key AND (\(ChannelStanding.isReady("c"))
                OR \(ChannelStanding.isPassedOver("c", of: "a")))
        ))
        """
}
