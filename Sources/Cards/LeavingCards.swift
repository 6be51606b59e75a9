package import ActivityModel
package import Postgres
package import Store

/// Ends cards on their phones, then forgets them.
///
/// A card that has not reported its token yet is ended when it does. One that listens to a channel cannot be ended
/// alone, and is only counted no more. One that is gone, or whose token must not be sent to, is forgotten at once
/// (promise 9).
package enum LeavingCards {
    /// The new state of the starts of these cards.
    package enum StartState: String {
        /// No audience starts the device again.
        case settled
        /// The device may be wanted again.
        case cancelled
    }

    /// The statements, to be run in this order.
    package static func statements(_ cards: [CardKey], starts: StartState) -> [Query] {
        let (activities, devices) = (cards.map(\.activityKey), cards.map(\.deviceKey))
        return [
            CardVersions.hold(cards),
            // Before the cards, in the order in which reports lock them. One that APNs has taken waits for its report.
            // Without its revision, a start that is wanted again is not taken for that of the card that ends.
            """
            INSERT INTO starts AS s (activity_key, device_key, state)
            SELECT r.activity_key, r.device_key, \(starts.rawValue)::start_state
            FROM unnest(\(activities), \(devices)) AS r(activity_key, device_key)
            ORDER BY r.activity_key, r.device_key
            ON CONFLICT (activity_key, device_key) DO UPDATE
            SET state = EXCLUDED.state, due_at = NULL, reason = NULL, revision = NULL
            WHERE CASE EXCLUDED.state WHEN 'settled' THEN s.state NOT IN ('sent', 'settled')
                ELSE s.state NOT IN ('claimed', 'unknown') END
            """,
            """
            DELETE FROM subscriptions AS s USING unnest(\(activities), \(devices)) AS r(activity_key, device_key)
            WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
              AND (s.state IN ('over', 'dead') OR \(unescaped: CardVersions.isRejected))
            """,
            """
            UPDATE subscriptions AS s
            SET leaving = true, failures = 0, reason = NULL,
                state = CASE WHEN s.state = 'waiting_for_token' THEN s.state
                    WHEN s.update_token IS NULL THEN 'over' ELSE 'due' END,
                due_at = CASE WHEN s.update_token IS NOT NULL THEN clock_timestamp() END,
                known_revision = CASE WHEN s.state <> 'waiting_for_token' AND s.update_token IS NULL
                    THEN \(unescaped: SegmentRows.sentToCard) ELSE s.known_revision END
            FROM unnest(\(activities), \(devices)) AS r(activity_key, device_key)
            WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
            """,
            CardVersions.alignment(cards),
            SegmentRows.announce(cards: cards),
        ]
    }

    /// Ends the card of a device that its app names, then forgets it. No audience starts the device again.
    ///
    /// - Returns: Whether there is such a card.
    package static func leave(
        _ activityKey: Int64,
        _ app: BundleID,
        _ device: DeviceID,
        on connection: PostgresConnection
    ) async throws -> Bool {
        let cards = try await connection.query(
            """
            SELECT s.device_key FROM subscriptions AS s JOIN devices AS d USING (device_key)
            WHERE d.bundle_id = \(app.rawValue) AND d.device_id = \(device.rawValue) AND s.activity_key = \(activityKey)
            """
        )
        guard let deviceKey = try cards.single(Int64.self) else { return false }
        let card = CardKey(activityKey: activityKey, deviceKey: deviceKey)
        _ = try await connection.pipeline(statements([card], starts: .settled))
        return true
    }
}
