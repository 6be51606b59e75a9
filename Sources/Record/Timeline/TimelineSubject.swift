import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// What a timeline is asked for: an activity, or one device's part in it.
struct TimelineSubject: Sendable {
    struct Device: Sendable {
        let key: Int64
        let facts: DeviceStory.Device
    }

    let activityKey: Int64
    let app: BundleID
    let activityID: ActivityID
    let activity: DeviceStory.Activity
    let policy: Policy
    /// The device that was asked for; nil also if there is none by that name.
    let device: Device?
    let deviceID: DeviceID?

    /// - Throws: 404 for an unknown activity.
    static func read(
        _ app: BundleID,
        _ id: ActivityID,
        _ device: DeviceID?,
        on connection: PostgresConnection
    ) async throws -> TimelineSubject {
        let rows = try await connection.query(selection(app, id, device))
        guard let row = try rows.first(as: Row.self) else { throw Problem.notFound("the activity") }
        return try TimelineSubject(row, app, id, device)
    }

    private static func selection(_ app: BundleID, _ id: ActivityID, _ device: DeviceID?) -> Query {
        """
        SELECT a.activity_key, a.state::text, a.revision, a.environment::text, a.starts_at, t.policy::text,
               EXISTS (SELECT FROM sending_halts AS h
                       WHERE h.bundle_id = a.bundle_id AND h.environment = a.environment),
               d.device_key, d.environment::text, coalesce(\(unescaped: AudienceCoverage.condition), false),
               a.delivery::text, d.os_version, d.app_version, coalesce(d.activities_enabled, true),
               EXISTS (SELECT FROM start_tokens AS k WHERE k.device_key = d.device_key
                       AND k.type_name = a.type_name AND k.state = 'live' OFFSET 0),
               (SELECT max(g.pushed_at + c.min_interval_seconds * interval '1 second')
                FROM changes AS c JOIN segments AS g USING (activity_key)
                WHERE c.activity_key = a.activity_key AND c.revision = a.revision AND g.segment >= 0
                  AND g.pushed_at + c.min_interval_seconds * interval '1 second' > clock_timestamp())
        FROM activities AS a JOIN activity_types AS t USING (bundle_id, type_name)
        LEFT JOIN devices AS d ON d.bundle_id = a.bundle_id AND d.device_id = \(device?.rawValue)
        WHERE a.bundle_id = \(app.rawValue) AND a.activity_id = \(id.rawValue)
        """
    }

    /// What ``selection(_:_:_:)`` selects, in its order.
    private typealias Row = (
        Int64, String, Int64, String, PGTimestamp?, String, Bool, Int64?, String?, Bool, String, String?, String?, Bool,
        Bool, PGTimestamp?
    )

    private init(_ row: Row, _ app: BundleID, _ id: ActivityID, _ deviceID: DeviceID?) throws {
        let (
            key, state, newest, environment, startsAt, policy, isHalted, deviceKey, home, isWanted, delivery, osVersion,
            appVersion, mayShow, hasToken, heldUntil
        ) = row
        activityKey = key
        self.app = app
        activityID = id
        self.deviceID = deviceID
        activity = DeviceStory.Activity(
            state: try .stored(state),
            newest: newest,
            environment: try .stored(environment),
            startsAt: startsAt.map { Instant($0) },
            isHalted: isHalted,
            heldUntil: heldUntil.map { Instant($0) }
        )
        self.policy = try Policy(json: JSONValue(parsing: policy))
        guard let deviceKey, let home else {
            device = nil
            return
        }
        let capability = DeviceCapability(
            osVersion: osVersion.flatMap(OSVersion.init),
            activitiesEnabled: mayShow,
            delivery: try .stored(delivery)
        )
        // What its app decodes, and what is left of its budget, is told of the starts that there are.
        let obstacle = StartStateMachine.Obstacle.first(
            capability: capability,
            isDecodable: true,
            hasToken: hasToken,
            budgetUntil: nil
        )
        device = Device(
            key: deviceKey,
            facts: .init(
                environment: try .stored(home),
                isWanted: isWanted,
                obstacle: obstacle?.word,
                appVersion: appVersion
            )
        )
    }
}
