package import APITypes
package import ActivityModel
package import Postgres
import Store

/// How many devices of each sort an audience reaches now, by what they would be started with. A dry run of a start
/// counts them before its transaction, so counting holds no lock.
package struct StartCounts: Sendable {
    /// Devices that would be started alike.
    package struct Sort: Sendable, Hashable {
        package let osVersion: String?
        package let activitiesEnabled: Bool
        /// Empty if the app does not say it.
        package let appVersion: String
        package let hasToken: Bool
    }

    /// The reached devices, by their sorts.
    package private(set) var devices: [Sort: Int] = [:]
    /// The named users without a registered device.
    private var unknownUsers = 0
    /// The named devices that are not registered.
    private var unknownDevices = 0

    /// How many the audience reaches.
    package var audience: AudienceCounts {
        AudienceCounts(
            devices: devices.values.reduce(0, +),
            unknownUsers: unknownUsers,
            unknownDevices: unknownDevices
        )
    }

    /// Counts those whom a start of a type would reach, `pageSize` devices or followers by one statement.
    package static func read(
        _ audience: Audience,
        of app: BundleID,
        _ environment: APNSEnvironment,
        type: ActivityTypeName,
        pageSize: Int,
        from database: Database
    ) async throws -> StartCounts {
        let reach = Reach(audience: audience, app: app, environment: environment, type: type)
        var counts = StartCounts()
        if !audience.users.isEmpty || !audience.devices.isEmpty {
            let queries: [Query] = [.planningOnce, reach.named, reach.unknownUsers, reach.unknownDevices]
            let results = try await database.pipeline(queries)
            try counts.add(results[1])
            counts.unknownUsers = Int(try results[2].single(Int64.self) ?? 0)
            counts.unknownDevices = Int(try results[3].single(Int64.self) ?? 0)
        }
        for place in audience.topics.indices {
            try await KeyPages(database: database, size: pageSize).read(bound: reach.followBound(place)) { page in
                try counts.add(await database.pipeline([.planningOnce, reach.followers(place, page)])[1])
                return true
            }
        }
        guard audience.allOfType else { return counts }
        try await KeyPages(database: database, size: pageSize).read(bound: reach.bound) { page in
            try counts.add(await database.pipeline([.planningOnce, reach.all(page)])[1])
            return true
        }
        return counts
    }

    private mutating func add(_ rows: Rows) throws {
        for (osVersion, isEnabled, appVersion, hasToken, count) in try rows.decoded(
            as: (String?, Bool, String, Bool, Int64).self
        ) {
            let sort = Sort(
                osVersion: osVersion,
                activitiesEnabled: isEnabled,
                appVersion: appVersion,
                hasToken: hasToken
            )
            devices[sort, default: 0] += Int(count)
        }
    }
}

/// The statements that find the devices of an audience that is not stored.
private struct Reach {
    let audience: Audience
    let app: BundleID
    let environment: APNSEnvironment
    let type: ActivityTypeName

    /// The condition that the device `d` has a live start token.
    private var hasToken: Query { StartTokenState.isLive(device: "d.device_key", of: type) }
    /// The condition that an audience of all reaches the device `d`.
    private var isReported: Query { StartTokenState.isReported(device: "d.device_key", of: type) }

    /// Counts the devices that the audience names itself or by their users. Counts each once, and skips those that
    /// ``all(_:)`` counts.
    var named: Query {
        """
        WITH named AS (
            SELECT d.device_key FROM unnest(\(audience.devices.map(\.rawValue))) AS n(device_id) CROSS JOIN LATERAL (
                SELECT device_key FROM devices WHERE bundle_id = \(app.rawValue) AND device_id = n.device_id OFFSET 0
            ) AS d
            UNION
            SELECT d.device_key FROM unnest(\(audience.users.map(\.rawValue))) AS n(user_id) CROSS JOIN LATERAL (
                SELECT device_key FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = n.user_id OFFSET 0
            ) AS d
        )
        SELECT \(unescaped: Self.sort), \(part: hasToken), count(*)
        FROM named JOIN devices AS d USING (device_key)
        WHERE d.environment = \(environment.rawValue)::apns_environment
          AND NOT (\(audience.allOfType) AND \(part: isReported))
        GROUP BY 1, 2, 3, 4
        """
    }

    /// Counts the users without a registered device.
    var unknownUsers: Query {
        """
        SELECT count(DISTINCT n.user_id) FROM unnest(\(audience.users.map(\.rawValue))) AS n(user_id)
        WHERE NOT EXISTS (
            SELECT FROM devices AS d WHERE d.bundle_id = \(app.rawValue) AND d.user_id = n.user_id OFFSET 0
        )
        """
    }

    /// Counts the devices that are not registered.
    var unknownDevices: Query {
        """
        SELECT count(DISTINCT n.device_id) FROM unnest(\(audience.devices.map(\.rawValue))) AS n(device_id)
        WHERE NOT EXISTS (
            SELECT FROM devices AS d WHERE d.bundle_id = \(app.rawValue) AND d.device_id = n.device_id OFFSET 0
        )
        """
    }

    /// Bounds the next page of the app's devices.
    ///
    /// The page is read by its place alone, and the app is compared afterwards. With the app as a condition of its own the
    /// server begins each page at the app's first device, so each takes longer than the one before.
    func bound(after key: Int64, size: Int) -> Query {
        """
        SELECT max(device_key), count(*) FROM (
            SELECT bundle_id, environment, device_key FROM devices
            WHERE (bundle_id, environment, device_key)
                > (\(app.rawValue), \(environment.rawValue)::apns_environment, \(key))
            ORDER BY bundle_id, environment, device_key LIMIT \(size)
        ) AS page
        WHERE bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
        """
    }

    /// Counts the devices of a page that have reported a start token of the type.
    func all(_ page: KeyPages.Page) -> Query {
        """
        SELECT \(unescaped: Self.sort), \(part: hasToken), count(*)
        FROM devices AS d
        WHERE d.bundle_id = \(app.rawValue) AND d.environment = \(environment.rawValue)::apns_environment
          AND d.device_key > \(page.after) AND d.device_key <= \(page.through)
          AND \(part: isReported)
        GROUP BY 1, 2, 3, 4
        """
    }

    /// Bounds the next page of the followers of a topic.
    func followBound(_ place: Int) -> (_ after: Int64, _ size: Int) -> Query {
        { after, size in
            """
            SELECT max(follow_key), count(*) FROM (
                SELECT follow_key FROM topic_follows
                WHERE bundle_id = \(app.rawValue) AND topic = \(audience.topics[place].rawValue) AND follow_key > \(after)
                ORDER BY bundle_id, topic, follow_key LIMIT \(size)
            ) AS page
            """
        }
    }

    /// Counts the devices of a page of followers, each with the first topic that it follows. It leaves out those that
    /// ``named`` or ``all(_:)`` counts.
    func followers(_ place: Int, _ page: KeyPages.Page) -> Query {
        """
        WITH given AS MATERIALIZED (
            SELECT \(app.rawValue) AS app, \(audience.topics[place].rawValue) AS topic,
                   \(audience.topics.prefix(place).map(\.rawValue)) AS earlier,
                   \(audience.topicsAll.map(\.rawValue)) AS topics_all,
                   \(audience.exceptTopics.map(\.rawValue)) AS except_topics
        ), page AS MATERIALIZED (
            SELECT user_id, device_key FROM topic_follows
            WHERE bundle_id = \(app.rawValue) AND topic = \(audience.topics[place].rawValue)
              AND follow_key > \(page.after) AND follow_key <= \(page.through)
        )
        SELECT \(unescaped: Self.sort), \(part: hasToken), count(*)
        FROM given AS g CROSS JOIN page AS f CROSS JOIN LATERAL (
            SELECT * FROM devices WHERE device_key = f.device_key
            UNION ALL
            SELECT * FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = f.user_id OFFSET 0
        ) AS d
        WHERE d.environment = \(environment.rawValue)::apns_environment
          AND d.device_id NOT IN (SELECT unnest(\(audience.devices.map(\.rawValue))))
          AND coalesce(d.user_id NOT IN (SELECT unnest(\(audience.users.map(\.rawValue)))), true)
          AND NOT (\(audience.allOfType) AND \(part: isReported))
          AND \(unescaped: Self.isCountedHere)
        GROUP BY 1, 2, 3, 4
        """
    }

    /// The condition that the device `d` counts as one of the page `f` of followers of a `given` topic `g`.
    private static let isCountedHere = """
        (\(TopicFollowing.isWithin(all: "g.topics_all", except: "g.except_topics", device: "d.device_key", user: "d.user_id", of: "g.app"))
         AND NOT (f.user_id IS NOT NULL AND \(TopicFollowing.deviceFollows("g.topic", device: "d.device_key")))
         AND NOT EXISTS (SELECT FROM unnest(g.earlier) AS e(topic)
                         WHERE \(TopicFollowing.follows("e.topic", device: "d.device_key", user: "d.user_id", of: "g.app"))))
        """

    /// The columns of ``StartCounts/Sort`` of the device `d`, except whether it has a token of the type.
    private static let sort = "d.os_version, d.activities_enabled, \(CardVersions.appVersion)"
}
