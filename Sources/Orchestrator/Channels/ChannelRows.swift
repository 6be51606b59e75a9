import APITypes
import ActivityModel
import Postgres
import Store

/// The statements by which channels change hands.
enum ChannelRows {
    /// Gives an activity a channel that is ready and has never served anyone, or a new one that is to be made.
    static func assignment(
        to activityKey: Int64,
        app: BundleID,
        _ environment: APNSEnvironment,
        _ storage: ChannelStorage
    ) -> [Query] {
        [
            """
            UPDATE channels SET activity_key = \(activityKey)
            WHERE channel_id = (
                SELECT channel_id FROM channels
                WHERE bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
                  AND storage = \(storage.rawValue)::channel_storage
                  AND state = 'ready' AND activity_key IS NULL AND delete_at IS NULL
                ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED
            )
            """,
            """
            INSERT INTO channels (bundle_id, environment, storage, activity_key)
            SELECT \(app.rawValue), \(environment.rawValue)::apns_environment, \(storage.rawValue)::channel_storage,
                   \(activityKey)
            WHERE NOT EXISTS (SELECT FROM channels WHERE activity_key = \(activityKey) AND lost_at IS NULL)
            """,
        ]
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
    /// exists, or is not needed. It is also so if the activity is hybrid and Apple has refused the channel for half a
    /// minute. Then everyone is started by token.
    static let mayStart = """
        (a.delivery = 'tokens' OR EXISTS (
            SELECT FROM channels AS c
            WHERE c.activity_key = a.activity_key AND (c.state = 'ready'
                OR (a.delivery = 'hybrid' AND c.state = 'creating' AND c.reason IS NOT NULL
                    AND a.started_at < clock_timestamp() - interval '30 seconds'))
        ))
        """
}
