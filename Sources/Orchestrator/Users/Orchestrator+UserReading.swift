package import APITypes
package import ActivityModel
import Postgres
import Registry
import Store

extension Orchestrator {
    /// The devices of a user, their cards and starts, the topics, and the activities whose audience names any of them.
    /// Each list is cut at ``UserResource/limit``.
    ///
    /// - Throws: 404 if no device, no topic and no audience names the user.
    package func user(_ app: BundleID, _ id: UserID) async throws -> UserResource {
        let limit = UserResource.limit
        let devices = try await registry.devices(app, user: id, PageRequest(limit: limit))
        let names = devices.items.map(\.deviceID.rawValue)
        let results = try await database.pipeline([
            .planningOnce, Self.cards(app, devices: names, limit),
            Self.activities(app, naming: id, devices: names, limit),
            TopicRows.selection(of: .user(id), in: app), Self.starts(app, devices: names, limit),
            Self.sentToday(app, devices: names),
        ])
        let topics = try results[3].decoded(as: String.self).map { Topic(stored: $0) }
        let starts = try results[4].map { row in try Self.start(in: row, from: 0) }
        let sent = try results[5].first(as: (Int64, Int64).self).map { starts, pushes in
            SentToday(starts: Int(starts), pushes: Int(pushes))
        }
        let cards = try results[1].map { row in try Self.userCard(in: row, from: 0) }
        let activities = try results[2].decoded(as: (String, String, String).self).map { id, type, state in
            UserActivity(
                activityID: ActivityID(stored: id),
                type: ActivityTypeName(stored: type),
                state: try .stored(state)
            )
        }
        if devices.items.isEmpty, activities.isEmpty, topics.isEmpty { throw Problem.notFound("the user") }
        return UserResource(
            userID: id,
            devices: devices.items,
            cards: Array(cards.prefix(limit)),
            activities: Array(activities.prefix(limit)),
            topics: topics,
            starts: Array(starts.prefix(limit)),
            sentToday: sent ?? SentToday(),
            isTruncated: devices.nextCursor != nil
                || max(cards.count, activities.count, starts.count) > limit
        )
    }

    /// The columns of a card with its activity.
    static let userCardColumns = "a.activity_id, a.type_name, a.state::text, \(cardColumns)"

    /// Reads ``userCardColumns``, which begin at a column.
    static func userCard(in row: Row, from first: Int) throws -> UserCard {
        UserCard(
            activityID: ActivityID(stored: try row.decode(at: first)),
            type: ActivityTypeName(stored: try row.decode(at: first + 1)),
            activityState: try .stored(row.decode(at: first + 2)),
            card: try card(in: row, from: first + 3)
        )
    }

    /// The columns of a start.
    static let startColumns = """
        a.activity_id, d.device_id, CASE s.state WHEN 'claimed' THEN 'pending' WHEN 'unknown' THEN 'unanswered'
            WHEN 'settled' THEN 'confirmed' ELSE s.state::text END, s.reason, s.claimed_at
        """

    /// Reads ``startColumns``, which begin at a column.
    static func start(in row: Row, from first: Int) throws -> UserStart {
        UserStart(
            activityID: ActivityID(stored: try row.decode(at: first)),
            deviceID: DeviceID(stored: try row.decode(at: first + 1)),
            state: try .stored(row.decode(at: first + 2)),
            reason: try row.decode(at: first + 3),
            sentAt: try row.decode(PGTimestamp?.self, at: first + 4).map { Instant($0) }
        )
    }

    private static func starts(_ app: BundleID, devices: [String], _ limit: Int) -> Query {
        """
        SELECT \(unescaped: startColumns)
        FROM unnest(\(devices)) AS n(device_id)
        CROSS JOIN LATERAL (
            SELECT device_key, device_id FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (SELECT * FROM starts WHERE starts.device_key = d.device_key OFFSET 0) AS s
        JOIN activities AS a ON \(unescaped: Query.byKey("a", "s", "activity_key"))
        ORDER BY s.activity_key DESC, s.device_key LIMIT \(limit + 1)
        """
    }

    static func sentToday(_ app: BundleID, devices: [String]) -> Query {
        """
        SELECT coalesce(sum(started.count), 0)::int8, coalesce(sum(pushed.count), 0)::int8
        FROM unnest(\(devices)) AS n(device_id)
        CROSS JOIN LATERAL (
            SELECT device_key FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(attempts), 0)::int8 AS count FROM starts
            WHERE starts.device_key = d.device_key AND claimed_at > clock_timestamp() - interval '1 day' OFFSET 0
        ) AS started
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM timeline
            WHERE timeline.device_key = d.device_key AND at > clock_timestamp() - interval '1 day'
              AND kind = 'push' OFFSET 0
        ) AS pushed
        """
    }

    private static func cards(_ app: BundleID, devices: [String], _ limit: Int) -> Query {
        """
        SELECT \(unescaped: userCardColumns)
        FROM devices AS d JOIN subscriptions AS s USING (device_key) JOIN activities AS a USING (activity_key)
        WHERE d.bundle_id = \(app.rawValue) AND d.device_id = ANY(\(devices))
        ORDER BY s.activity_key DESC, s.device_key LIMIT \(limit + 1)
        """
    }

    private static func activities(_ app: BundleID, naming user: UserID, devices: [String], _ limit: Int) -> Query {
        """
        SELECT a.activity_id, a.type_name, a.state::text
        FROM (
            SELECT activity_key FROM audience_members
            WHERE bundle_id = \(app.rawValue) AND kind = 'user' AND member_id = \(user.rawValue)
            UNION
            SELECT activity_key FROM audience_members
            WHERE bundle_id = \(app.rawValue) AND kind = 'device' AND member_id = ANY(\(devices))
            UNION
            SELECT m.activity_key FROM (
                SELECT topic FROM topic_follows
                WHERE bundle_id = \(app.rawValue) AND user_id >= \(user.rawValue) AND user_id <= \(user.rawValue)
                ORDER BY user_id, topic OFFSET 0
            ) AS f
            JOIN audience_topics AS m ON m.bundle_id = \(app.rawValue) AND m.topic = ANY(ARRAY[f.topic])
        ) AS m JOIN activities AS a USING (activity_key)
        ORDER BY a.activity_key DESC LIMIT \(limit + 1)
        """
    }
}
