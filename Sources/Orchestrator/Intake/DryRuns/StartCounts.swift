import APITypes
import ActivityModel
import Postgres
import Store

/// How many devices of each sort an audience reaches now, by what they would be started with. A dry run of a start
/// counts them before its transaction, so counting holds no lock.
struct StartCounts: Sendable {
    /// Devices that would be started alike.
    struct Sort: Sendable, Hashable {
        let osVersion: String?
        let activitiesEnabled: Bool
        /// Empty if the app does not say it.
        let appVersion: String
        let hasToken: Bool
    }

    private(set) var devices: [Sort: Int] = [:]
    private(set) var unknownUsers = 0

    var audience: AudienceCounts {
        AudienceCounts(devices: devices.values.reduce(0, +), unknownUsers: unknownUsers)
    }

    /// Counts those whom a start of a type would reach.
    static func read(
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
            let results = try await database.pipeline([.planningOnce, reach.named, reach.unknownUsers])
            try counts.add(results[1])
            counts.unknownUsers = Int(try results[2].single(Int64.self) ?? 0)
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

    /// Counts the devices that are named, or whose users are; each once, and none that ``all(_:)`` counts.
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
        SELECT \(unescaped: Self.sort), EXISTS (
                   SELECT FROM start_tokens AS t
                   WHERE t.device_key = d.device_key AND t.type_name = \(type.rawValue) AND t.state = 'live' OFFSET 0
               ), count(*)
        FROM named JOIN devices AS d USING (device_key)
        WHERE d.environment = \(environment.rawValue)::apns_environment
          AND NOT (\(audience.allOfType) AND EXISTS (
              SELECT FROM start_tokens AS t
              WHERE t.device_key = d.device_key AND t.type_name = \(type.rawValue) OFFSET 0))
        GROUP BY 1, 2, 3, 4
        """
    }

    /// Counts the users of whom nothing is registered.
    var unknownUsers: Query {
        """
        SELECT count(DISTINCT n.user_id) FROM unnest(\(audience.users.map(\.rawValue))) AS n(user_id)
        WHERE NOT EXISTS (
            SELECT FROM devices AS d WHERE d.bundle_id = \(app.rawValue) AND d.user_id = n.user_id OFFSET 0
        )
        """
    }

    /// Bounds the next page of the app's devices.
    func bound(after key: Int64, size: Int) -> Query {
        """
        SELECT max(device_key), count(*) FROM (
            SELECT device_key FROM devices
            WHERE (bundle_id, environment, device_key)
                > (\(app.rawValue), \(environment.rawValue)::apns_environment, \(key))
              AND bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
            ORDER BY bundle_id, environment, device_key LIMIT \(size)
        ) AS page
        """
    }

    /// Counts the devices of a page that have reported a start token of the type.
    func all(_ page: KeyPages.Page) -> Query {
        """
        SELECT \(unescaped: Self.sort), EXISTS (
                   SELECT FROM start_tokens AS t
                   WHERE t.device_key = d.device_key AND t.type_name = \(type.rawValue) AND t.state = 'live' OFFSET 0
               ), count(*)
        FROM devices AS d
        WHERE d.bundle_id = \(app.rawValue) AND d.environment = \(environment.rawValue)::apns_environment
          AND d.device_key > \(page.after) AND d.device_key <= \(page.through)
          AND EXISTS (
              SELECT FROM start_tokens AS t
              WHERE t.device_key = d.device_key AND t.type_name = \(type.rawValue) OFFSET 0)
        GROUP BY 1, 2, 3, 4
        """
    }

    /// The columns of ``StartCounts/Sort``, of the device `d`, but for whether it has a token of the type.
    private static let sort = "d.os_version, d.activities_enabled, \(AppVersionRows.appVersion)"
}
