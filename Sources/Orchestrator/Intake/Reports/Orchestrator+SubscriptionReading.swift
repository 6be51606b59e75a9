package import APITypes
package import ActivityModel
import Postgres

extension Orchestrator {
    /// The cards of an activity in the order in which their devices were first registered: all, or those in one state.
    ///
    /// Reads the activity's cards from the cursor on until the page is full, so a rare state of a large activity costs
    /// a look at all of them.
    ///
    /// - Throws: 404 for an unknown activity; 422 for a cursor of another list.
    package func subscriptions(
        _ app: BundleID,
        _ activity: ActivityID,
        state: SubscriptionState? = nil,
        _ page: PageRequest
    ) async throws -> Page<SubscriptionResource> {
        let after = try page.position(Int64.self)
        let found = try await database.withConnection { connection in
            let rows = try await connection.query(
                """
                SELECT activity_key FROM activities
                WHERE bundle_id = \(app.rawValue) AND activity_id = \(activity.rawValue)
                """
            )
            guard let key = try rows.single(Int64.self) else { throw Problem.notFound("the activity") }
            return try Self.subscriptions(
                try await connection.query(Self.list(key, state, after: after ?? 0, limit: page.limit + 1))
            )
        }
        return .cut(found, limit: page.limit, item: \.subscription) { [String($0.key)] }
    }

    /// The columns of a card. What a rider was sent says its ring, or its channel.
    static let cardColumns = """
        d.device_id, s.mode::text, s.state::text, s.reason,
        CASE WHEN s.state <> 'riding' THEN s.known_revision
             WHEN s.mode = 'token' THEN \(ReportRows.sentOnRing)
             ELSE (SELECT greatest(s.known_revision, g.completed_revision) FROM segments AS g
                   WHERE g.activity_key = s.activity_key AND g.segment = \(SegmentLease.channelSegment)) END,
        s.update_token, s.started_at, s.registered_at, s.due_at
        """

    private static func list(_ activity: Int64, _ state: SubscriptionState?, after key: Int64, limit: Int) -> Query {
        """
        SELECT s.device_key, \(unescaped: cardColumns)
        FROM subscriptions AS s JOIN devices AS d USING (device_key)
        WHERE s.activity_key = \(activity) AND s.device_key > \(key)
          AND (\(state?.storedWord)::text IS NULL OR s.state::text = \(state?.storedWord))
        ORDER BY s.device_key LIMIT \(limit)
        """
    }

    private static func subscriptions(_ rows: Rows) throws -> [(key: Int64, subscription: SubscriptionResource)] {
        try rows.map { row in (try row.decode(at: 0), try card(in: row, from: 1)) }
    }

    /// Reads ``cardColumns``, which begin at a column.
    static func card(in row: Row, from first: Int) throws -> SubscriptionResource {
        SubscriptionResource(
            deviceID: DeviceID(stored: try row.decode(at: first)),
            mode: try .stored(row.decode(at: first + 1)),
            state: try .stored(row.decode(at: first + 2)),
            reason: try row.decode(at: first + 3),
            revision: try row.decode(Int64?.self, at: first + 4) ?? 0,
            updateToken: try row.decode([UInt8]?.self, at: first + 5).flatMap { PushToken(bytes: $0) },
            startedAt: Instant(try row.decode(PGTimestamp.self, at: first + 6)),
            registeredAt: Instant(try row.decode(PGTimestamp.self, at: first + 7)),
            dueAt: try row.decode(PGTimestamp?.self, at: first + 8).map { Instant($0) }
        )
    }
}
