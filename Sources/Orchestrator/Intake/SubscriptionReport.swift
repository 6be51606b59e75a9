import APITypes
import ActivityModel
import JSON
import Postgres

/// One report of a card, and how it is stored.
struct SubscriptionReport: Sendable {
    let facts: ActivityFacts
    let deviceKey: Int64
    let request: SubscriptionRequest

    func store(
        _ activity: ActivityID,
        _ device: DeviceID,
        on connection: PostgresConnection
    ) async throws -> SubscriptionAnswer {
        // The card exists, so its start is settled, whatever is known of its push (promise 6).
        let settled = try await connection.query(
            """
            UPDATE starts SET state = 'settled', due_at = NULL, reason = NULL
            WHERE activity_key = \(facts.key) AND device_key = \(deviceKey)
              AND state IN ('pending', 'claimed', 'unknown', 'sent')
            RETURNING revision
            """
        )
        let isFirst = !settled.isEmpty
        let started = try settled.single(Int64?.self) ?? nil
        let statements = try await statements(known: request.knownRevision ?? started, isFirst, on: connection)
        let results = try await connection.pipeline(
            statements + [
                SegmentStore.announce(activityKeys: [facts.key]),
                """
                SELECT s.mode::text, s.state::text, a.revision, a.state::text
                FROM activities AS a LEFT JOIN subscriptions AS s
                    ON s.activity_key = a.activity_key AND s.device_key = \(deviceKey)
                WHERE a.activity_key = \(facts.key)
                """,
            ]
        )
        guard
            let (mode, state, revision, activityState) = try results.last?.first(
                as: (String?, String?, Int64, String).self
            )
        else { throw Problem.notFound("the activity") }
        return SubscriptionAnswer(
            activityID: activity,
            deviceID: device,
            mode: try mode.map(SubscriptionMode.stored) ?? .token,
            state: try state.map(SubscriptionState.stored) ?? .over,
            revision: revision,
            activityState: try .stored(activityState)
        )
    }

    private func statements(
        known: Revision?,
        _ isFirst: Bool,
        on connection: PostgresConnection
    ) async throws -> [Query] {
        switch request.report {
        case .updateToken(let token):
            return [self.token(token, known: known, isFirst)]
        case .channelID(let channelID):
            try await checkChannel(channelID, on: connection)
            return [channel(known: known, isFirst)]
        case .channel:
            try await checkChannel(nil, on: connection)
            return [channel(known: known, isFirst)]
        case .ended:
            return [ended()]
        }
    }

    /// The row is kept, or made, so that a start that is still on its way to that card is not taken for one that waits.
    private func ended() -> Query {
        """
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, generation)
        VALUES (\(facts.key), \(deviceKey), 'token', 'over', \(request.generation ?? 0))
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET state = 'over', due_at = NULL, leaving = false, generation = coalesce(\(request.generation), s.generation)
        WHERE s.generation <= coalesce(\(request.generation), s.generation)
        """
    }

    /// The new token is served by its own row first. A worker gives the row back to the ring when it has the newest
    /// state, so that no change falls between a registration and a walk that goes on at the same moment.
    ///
    /// A card that was started hears the alert of the newest change if it lacks that; one that just joined shows the state
    /// without being told of it. A card that waits to be ended, and had no token so far, goes on waiting for that.
    private func token(_ token: PushToken, known: Revision?, _ isFirst: Bool) -> Query {
        """
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, frequent, update_token, generation,
            known_revision, heard_revision, due_at, activitykit_id, registered_at)
        SELECT a.activity_key, d.device_key, 'token', 'due', d.frequent_pushes_enabled, \(token.bytes),
               \(request.generation ?? 0), \(known ?? 0), a.revision - \((known ?? 0) > 0 ? Int64(1) : 0),
               clock_timestamp(), \(request.activityKitID), clock_timestamp()
        FROM activities AS a, devices AS d
        WHERE a.activity_key = \(facts.key) AND d.device_key = \(deviceKey)
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET mode = 'token', frequent = EXCLUDED.frequent, update_token = EXCLUDED.update_token,
            generation = coalesce(\(request.generation), s.generation),
            activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id),
            registered_at = EXCLUDED.registered_at, failures = 0, reason = NULL,
            leaving = s.leaving AND s.state = 'waiting_for_token',
            (state, due_at, known_revision, heard_revision) = (
                SELECT
                    CASE WHEN same THEN s.state ELSE 'due' END,
                    CASE WHEN NOT same THEN EXCLUDED.due_at END,
                    CASE WHEN same THEN s.known_revision ELSE EXCLUDED.known_revision END,
                    CASE WHEN s.mode = 'token' AND s.state = 'due' THEN s.heard_revision
                        WHEN s.mode = 'token' AND s.state = 'riding' THEN \(unescaped: Self.heardOnRing)
                        ELSE EXCLUDED.heard_revision END
                FROM (SELECT s.mode = 'token' AND s.state = 'riding' AND s.update_token = EXCLUDED.update_token
                          AND \(request.knownRevision == nil && !isFirst) AS same) AS report
            )
        WHERE s.generation <= coalesce(\(request.generation), s.generation)
        """
    }

    /// What a rider `s` of the ring has heard: that depends on whether the walk has passed it.
    private static let heardOnRing = """
        (SELECT greatest(s.known_revision, CASE
             WHEN g.lap_revision IS NULL THEN g.completed_revision
             WHEN \(SegmentStore.hasPassed("s.device_key", since: "g.lap_origin")) THEN g.lap_revision
             WHEN NOT \(SegmentStore.hasPassed("s.device_key", since: "g.alert_origin")) THEN g.alert_revision - 1
             ELSE g.lap_revision - 1 END)
         FROM segments AS g WHERE g.activity_key = s.activity_key AND g.segment = 0)
        """

    /// A card that joined its channel after the newest broadcast is owed another one. Those who join within a second of
    /// each other share it: a broadcast goes to everybody who listens.
    private func channel(known: Revision?, _ isFirst: Bool) -> Query {
        """
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, frequent, generation, known_revision, due_at,
            activitykit_id, registered_at)
        SELECT a.activity_key, d.device_key, 'channel',
               CASE WHEN \(known ?? 0) < a.revision THEN 'due'::subscription_state ELSE 'riding' END,
               d.frequent_pushes_enabled, \(request.generation ?? 0), \(known ?? 0),
               CASE WHEN \(known ?? 0) < a.revision THEN clock_timestamp() + interval '1 second' END,
               \(request.activityKitID), clock_timestamp()
        FROM activities AS a, devices AS d
        WHERE a.activity_key = \(facts.key) AND d.device_key = \(deviceKey)
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET mode = 'channel', frequent = EXCLUDED.frequent, update_token = NULL,
            generation = coalesce(\(request.generation), s.generation),
            activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id),
            registered_at = EXCLUDED.registered_at, failures = 0, reason = NULL, leaving = false,
            (state, due_at, known_revision) = (
                SELECT
                    CASE WHEN same THEN s.state ELSE EXCLUDED.state END,
                    CASE WHEN same THEN s.due_at ELSE EXCLUDED.due_at END,
                    CASE WHEN same THEN s.known_revision ELSE EXCLUDED.known_revision END
                FROM (SELECT s.mode = 'channel' AND s.state IN ('riding', 'due')
                          AND \(request.knownRevision == nil && !isFirst) AS same) AS report
            )
        WHERE s.generation <= coalesce(\(request.generation), s.generation)
        """
    }

    private func checkChannel(_ channelID: APNSChannelID?, on connection: PostgresConnection) async throws {
        let rows = try await connection.query(
            """
            SELECT 1 FROM channels
            WHERE activity_key = \(facts.key)
              AND (\(channelID?.rawValue)::text IS NULL OR apns_channel_id = \(channelID?.rawValue))
            """
        )
        guard rows.isEmpty else { return }
        throw Problem.invalidRequest(
            pointer: JSONPointer().appending(channelID == nil ? "channel" : "channel_id"),
            code: FieldError.invalidValue,
            message: "This is not the channel of the activity."
        )
    }
}
