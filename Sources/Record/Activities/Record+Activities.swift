package import APITypes
package import ActivityModel
import JSON
import Postgres
import Store

extension Record {
    /// One activity with the progress of its newest change.
    ///
    /// - Throws: 404.
    package func activity(_ app: BundleID, _ id: ActivityID) async throws -> ActivityResource {
        let found = try await readActivities(
            """
            \(unescaped: Self.activityRows)
            WHERE a.bundle_id = \(app.rawValue) AND a.activity_id = \(id.rawValue)
            """
        )
        guard let activity = found.first?.resource else { throw Problem.notFound("the activity") }
        return activity
    }

    /// Activities of an app, the newest first. The filters are a type, a state, a part of an id, a device and a user. A
    /// device or user matches an activity that one of its devices has a card or a start of.
    ///
    /// - Throws: 404 for an unknown app; 422 for a cursor of another list.
    package func activities(
        _ app: BundleID,
        type: ActivityTypeName?,
        state: ActivityState?,
        device: DeviceID? = nil,
        user: UserID? = nil,
        containing part: String? = nil,
        _ page: PageRequest
    ) async throws -> Page<ActivityResource> {
        let before = try page.position(in: .activities, Int64.self)
        // The few of a device come from its own rows; other activities have millions.
        let mine =
            device == nil && user == nil ? "true" : "a.activity_key = ANY(ARRAY(SELECT activity_key FROM followed))"
        let found = try await readActivities(
            """
            WITH own AS MATERIALIZED (
                SELECT device_key, user_id FROM devices
                WHERE bundle_id = \(app.rawValue) AND device_id = \(device?.rawValue)
                UNION ALL
                SELECT device_key, user_id FROM devices
                WHERE bundle_id = \(app.rawValue) AND user_id = \(user?.rawValue) AND \(device?.rawValue)::text IS NULL
            ), followed AS MATERIALIZED (
                SELECT s.activity_key FROM own AS d JOIN subscriptions AS s USING (device_key)
                WHERE \(user?.rawValue)::text IS NULL OR d.user_id = \(user?.rawValue)
                UNION
                SELECT s.activity_key FROM own AS d JOIN starts AS s USING (device_key)
                WHERE \(user?.rawValue)::text IS NULL OR d.user_id = \(user?.rawValue)
            )
            \(unescaped: Self.activityRows)
            WHERE a.bundle_id = \(app.rawValue)
              AND (\(type?.rawValue)::text IS NULL OR a.type_name = \(type?.rawValue))
              AND (\(state?.rawValue)::text IS NULL OR a.state::text = \(state?.rawValue))
              AND (\(part)::text IS NULL OR strpos(a.activity_id, \(part)) > 0)
              AND a.activity_key < \(before ?? .max) AND \(unescaped: mine)
            ORDER BY a.activity_key DESC LIMIT \(page.limit + 1)
            """,
            limit: page.limit
        )
        if found.isEmpty { try await store.requireApp(app) }
        return .cut(found, of: .activities, limit: page.limit, item: \.resource) { [String($0.key)] }
    }

    private static let activityRows = """
        SELECT a.activity_key, a.activity_id, a.type_name, a.environment::text, a.state::text, a.revision, c.timestamp,
               a.delivery::text, c.content_state::text, a.attributes::text,
               a.created_at, a.started_at, a.ended_at, a.starts_at, a.ends_at, a.state = 'live' AND a.enrolment_due
        FROM activities AS a JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = a.revision
        """

    /// `limit`: how many of them are shown. A further one only tells that there are more.
    private func readActivities(
        _ query: Query,
        limit: Int = 1
    ) async throws -> [(key: Int64, resource: ActivityResource)] {
        let rows = try await database.query(query)
        var activities: [(key: Int64, resource: ActivityResource)] = []
        for row in rows {
            let resource = ActivityResource(
                activityID: ActivityID(stored: try row.decode(at: 1)),
                type: ActivityTypeName(stored: try row.decode(at: 2)),
                environment: try .stored(row.decode(at: 3)),
                state: try .stored(row.decode(at: 4)),
                revision: try row.decode(at: 5),
                timestamp: try row.decode(at: 6),
                delivery: try .stored(row.decode(at: 7)),
                contentState: try JSONValue(parsing: row.decode(at: 8)).object ?? JSONObject(),
                attributes: try JSONValue(parsing: row.decode(at: 9)).object ?? JSONObject(),
                createdAt: Instant(try row.decode(PGTimestamp.self, at: 10)),
                startedAt: try row.decode(PGTimestamp?.self, at: 11).map { Instant($0) },
                endedAt: try row.decode(PGTimestamp?.self, at: 12).map { Instant($0) },
                startsAt: try row.decode(PGTimestamp?.self, at: 13).map { Instant($0) },
                endsAt: try row.decode(PGTimestamp?.self, at: 14).map { Instant($0) },
                progress: DeliveryProgress(),
                starts: StartProgress(enrolling: try row.decode(at: 15))
            )
            activities.append((try row.decode(at: 0), resource))
        }
        let shown = activities.prefix(limit).map { ($0.key, Int64($0.resource.revision)) }
        let parts = try await ActivityParts.read(
            Dictionary(uniqueKeysWithValues: shown),
            counter: counter,
            from: database
        )
        for index in activities.indices {
            parts.complete(&activities[index].resource, key: activities[index].key)
        }
        return activities
    }
}
