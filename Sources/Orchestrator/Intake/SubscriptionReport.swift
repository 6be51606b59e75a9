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
            RETURNING CASE WHEN attempts > 0 THEN revision END, CASE WHEN attempts > 0 THEN claimed_at END
            """
        )
        let start = try settled.first(as: (Int64?, PGTimestamp?).self)
        let shown = Shown(
            revision: request.knownRevision ?? start?.0,
            startedAt: start?.1,
            isNews: request.knownRevision != nil || start != nil
        )
        let statements = try await statements(shown, on: connection)
        let results = try await connection.pipeline(
            statements + [
                AppVersionRows.alignment([facts.key], deviceKey: deviceKey),
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

    /// What is known of the card before it is looked at what was sent to it.
    private struct Shown {
        /// A revision that it certainly has: it says so, or its start carried it.
        let revision: Revision?
        /// When its start left; nil if the app started it itself.
        let startedAt: PGTimestamp?
        /// Whether this report tells it, or it was known from earlier ones.
        let isNews: Bool
    }

    private func statements(_ shown: Shown, on connection: PostgresConnection) async throws -> [Query] {
        switch request.report {
        case .updateToken(let token):
            return [self.token(token, shown)]
        case .channelID(let channelID):
            try await checkChannel(channelID, on: connection)
            return [channel(shown)]
        case .channel:
            try await checkChannel(nil, on: connection)
            return [channel(shown)]
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
        SET state = 'over', reason = NULL, due_at = NULL, check_at = NULL, leaving = false, generation = coalesce(\(request.generation), s.generation)
        WHERE s.generation <= coalesce(\(request.generation), s.generation)
        """
    }

    /// The new token is served by its own row first. A worker gives the row back to the ring when it has the newest
    /// state, so that no change falls between a registration and a walk that goes on at the same moment.
    ///
    /// A card that was started hears the alert of the newest change if it lacks that, and none that its start told of; one
    /// that just joined shows the state without being told of it. A card that waits to be ended, and had no token so far, goes on waiting for that.
    ///
    /// Without `known_revision` a card is believed to have what its start or the last accepted push carried. But a token
    /// that replaces another may have been void for some of those pushes, which APNs accepts all the same; what the phone
    /// itself did not confirm is therefore sent once more (``CatchUpTurn``).
    private func token(_ token: PushToken, _ shown: Shown) -> Query {
        """
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, frequent, update_token, generation,
            known_revision, confirmed_revision, heard_revision, due_at, activitykit_id, registered_at, started_at, check_at)
        SELECT a.activity_key, d.device_key, 'token', 'due', d.frequent_pushes_enabled, \(token.bytes),
               \(request.generation ?? 0), \(shown.revision ?? 0), \(shown.revision ?? 0),
               greatest(a.revision - \((shown.revision ?? 0) > 0 ? Int64(1) : 0), \(shown.revision ?? 0)),
               clock_timestamp(), \(request.activityKitID), clock_timestamp(), card.started_at, card.started_at + \(Self.lifetime)
        FROM activities AS a, devices AS d,
             (SELECT coalesce(\(shown.startedAt), clock_timestamp()) AS started_at) AS card
        WHERE a.activity_key = \(facts.key) AND d.device_key = \(deviceKey)
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET mode = 'token', frequent = EXCLUDED.frequent, update_token = EXCLUDED.update_token,
            generation = coalesce(\(request.generation), s.generation),
            activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id),
            registered_at = EXCLUDED.registered_at, failures = 0,
            leaving = s.leaving AND s.state = 'waiting_for_token',
            (state, reason, due_at, known_revision, confirmed_revision, heard_revision, started_at, check_at) = (
                SELECT
                    CASE WHEN is_over THEN 'over' WHEN is_same THEN s.state ELSE 'due' END,
                    CASE WHEN is_over THEN '\(unescaped: WatchedCard.expiry)' END,
                    CASE WHEN NOT is_over AND (NOT is_same OR s.state = 'due') THEN EXCLUDED.due_at END,
                    CASE WHEN is_same OR (NOT is_news AND NOT is_other AND s.mode = 'token') THEN
                            CASE WHEN s.state = 'riding' AND NOT is_same THEN \(unescaped: Self.sentOnRing)
                                ELSE s.known_revision END
                        ELSE EXCLUDED.known_revision END,
                    CASE WHEN is_news OR is_other THEN EXCLUDED.confirmed_revision ELSE s.confirmed_revision END,
                    CASE WHEN NOT is_other AND s.mode = 'token' AND s.state = 'due' THEN s.heard_revision
                        WHEN NOT is_other AND s.mode = 'token' AND s.state = 'riding' THEN \(unescaped: Self.heardOnRing)
                        ELSE EXCLUDED.heard_revision END,
                    CASE WHEN is_other THEN EXCLUDED.started_at ELSE s.started_at END,
                    CASE WHEN is_over THEN NULL WHEN is_other THEN EXCLUDED.check_at
                        ELSE s.started_at + (EXCLUDED.check_at - EXCLUDED.started_at) END
                FROM (SELECT \(unescaped: Self.isOtherCard) AS is_other, \(shown.isNews) AS is_news) AS card
                CROSS JOIN LATERAL (
                    SELECT NOT is_other AND \(unescaped: WatchedCard.isExpired) AS is_over,
                           NOT is_other AND NOT is_news AND s.mode = 'token' AND s.state IN ('riding', 'due')
                               AND s.update_token = EXCLUDED.update_token AS is_same
                ) AS report
            )
        WHERE s.generation <= coalesce(\(request.generation), s.generation)
        """
    }

    private static let lifetime = Duration.seconds(CardWatch.lifetimeSeconds)

    /// Whether a report is of another card than the one `s` that is stored: ActivityKit says so, or the phone has said
    /// that the one before is gone, or its 8 hours are over and this token is not its.
    private static let isOtherCard = """
        (coalesce(s.activitykit_id <> EXCLUDED.activitykit_id, false)
         OR (s.state = 'over' AND s.reason IS DISTINCT FROM '\(WatchedCard.expiry)')
         OR (\(WatchedCard.isExpired) AND coalesce(s.update_token <> EXCLUDED.update_token, false)
             AND NOT coalesce(s.activitykit_id = EXCLUDED.activitykit_id, false)))
        """

    /// What a rider `s` of the ring has been sent at least.
    static let sentOnRing = """
        (SELECT greatest(s.known_revision, g.completed_revision, CASE
             WHEN \(SegmentStore.hasPassed("s.device_key", since: "g.lap_origin")) THEN g.lap_revision END)
         FROM segments AS g WHERE g.activity_key = s.activity_key AND g.segment = 0)
        """

    /// What a rider `s` of the ring has heard: that depends on whether the walk has passed it.
    static let heardOnRing = """
        (SELECT greatest(s.known_revision, CASE
             WHEN g.lap_revision IS NULL THEN g.completed_revision
             WHEN \(SegmentStore.hasPassed("s.device_key", since: "g.lap_origin")) THEN g.lap_revision
             WHEN NOT \(SegmentStore.hasPassed("s.device_key", since: "g.alert_origin")) THEN g.alert_revision - 1
             ELSE g.lap_revision - 1 END)
         FROM segments AS g WHERE g.activity_key = s.activity_key AND g.segment = 0)
        """

    /// A card that joined its channel after the newest broadcast is owed another one. Those who join within a second of
    /// each other share it: a broadcast goes to everybody who listens.
    private func channel(_ shown: Shown) -> Query {
        let known = shown.revision ?? 0
        return """
            INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, frequent, generation, known_revision,
                confirmed_revision, due_at, activitykit_id, registered_at, started_at, check_at)
            SELECT a.activity_key, d.device_key, 'channel',
                   CASE WHEN \(known) < a.revision THEN 'due'::subscription_state ELSE 'riding' END,
                   d.frequent_pushes_enabled, \(request.generation ?? 0), \(known), \(known),
                   CASE WHEN \(known) < a.revision THEN clock_timestamp() + interval '1 second' END,
                   \(request.activityKitID), clock_timestamp(), card.started_at, card.started_at + \(Self.lifetime)
            FROM activities AS a, devices AS d,
                 (SELECT coalesce(\(shown.startedAt), clock_timestamp()) AS started_at) AS card
            WHERE a.activity_key = \(facts.key) AND d.device_key = \(deviceKey)
            ON CONFLICT (activity_key, device_key) DO UPDATE
            SET mode = 'channel', frequent = EXCLUDED.frequent, update_token = NULL,
                generation = coalesce(\(request.generation), s.generation),
                activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id),
                registered_at = EXCLUDED.registered_at, failures = 0, leaving = false,
                (state, reason, due_at, known_revision, confirmed_revision, started_at, check_at) = (
                    SELECT
                        CASE WHEN is_over THEN 'over' WHEN is_same THEN s.state ELSE EXCLUDED.state END,
                        CASE WHEN is_over THEN '\(unescaped: WatchedCard.expiry)' END,
                        CASE WHEN NOT is_over THEN CASE WHEN is_same THEN s.due_at ELSE EXCLUDED.due_at END END,
                        CASE WHEN is_same THEN s.known_revision ELSE EXCLUDED.known_revision END,
                        CASE WHEN is_same THEN s.confirmed_revision ELSE EXCLUDED.confirmed_revision END,
                        CASE WHEN is_other THEN EXCLUDED.started_at ELSE s.started_at END,
                        CASE WHEN is_over THEN NULL WHEN is_other THEN EXCLUDED.check_at
                            ELSE s.started_at + (EXCLUDED.check_at - EXCLUDED.started_at) END
                    FROM (SELECT \(unescaped: Self.isOtherCard) AS is_other) AS card
                    CROSS JOIN LATERAL (
                        SELECT NOT is_other AND \(unescaped: WatchedCard.isExpired) AS is_over,
                               NOT is_other AND s.mode = 'channel' AND s.state IN ('riding', 'due')
                                   AND \(!shown.isNews) AS is_same
                    ) AS report
                )
            WHERE s.generation <= coalesce(\(request.generation), s.generation)
            """
    }

    private func checkChannel(_ channelID: APNSChannelID?, on connection: PostgresConnection) async throws {
        let rows = try await connection.query(
            """
            SELECT 1 FROM channels
            WHERE activity_key = \(facts.key) AND lost_at IS NULL
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
