import APITypes
import ActivityModel
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
        guard let row = rows.first else { throw Problem.notFound("the activity") }
        return try TimelineSubject(row, app, id, device)
    }

    private static func selection(_ app: BundleID, _ id: ActivityID, _ device: DeviceID?) -> Query {
        """
        SELECT a.activity_key, a.state::text, a.revision, a.environment::text, a.starts_at, t.policy::text,
               \(unescaped: StandingHalt.isFor("a")) AS is_halted,
               d.device_key, d.environment::text AS home,
               coalesce(\(unescaped: AudienceCoverage.condition), false) AS is_wanted,
               a.delivery::text, d.os_version, d.app_version, coalesce(d.activities_enabled, true) AS may_show,
               \(unescaped: StartTokenState.isLive(device: "d.device_key", type: "a.type_name")) AS has_token, EXISTS (
                   SELECT FROM start_tokens AS t
                   WHERE t.device_key = d.device_key AND t.type_name = a.type_name AND t.state = 'rejected'
                     AND \(unescaped: StandingHalt.makesSuspect("t.rejected_at", of: "d")) OFFSET 0
               ) AS has_suspect_token
        FROM activities AS a JOIN activity_types AS t USING (bundle_id, type_name)
        LEFT JOIN devices AS d ON d.bundle_id = a.bundle_id AND d.device_id = \(device?.rawValue)
        WHERE a.bundle_id = \(app.rawValue) AND a.activity_id = \(id.rawValue)
        """
    }

    private init(_ row: Row, _ app: BundleID, _ id: ActivityID, _ deviceID: DeviceID?) throws {
        activityKey = try row["activity_key"]
        self.app = app
        activityID = id
        self.deviceID = deviceID
        activity = DeviceStory.Activity(
            state: try .stored(row["state"]),
            newest: try row["revision"],
            environment: try .stored(row["environment"]),
            startsAt: try row["starts_at"],
            isHalted: try row["is_halted"]
        )
        policy = try Policy.stored(row["policy"])
        device = try Self.device(row)
    }

    private static func device(_ row: Row) throws -> Device? {
        guard let key = try row["device_key"] as Int64?, let home = try row["home"] as String? else { return nil }
        let osVersion: String? = try row["os_version"]
        let capability = DeviceCapability(
            osVersion: osVersion.flatMap(OSVersion.init),
            activitiesEnabled: try row["may_show"],
            delivery: try .stored(row["delivery"])
        )
        // What its app decodes, and what is left of its budget, is told of the starts that there are.
        let obstacle = StartStateMachine.Obstacle.first(
            capability: capability,
            isDecodable: true,
            hasToken: try row["has_token"],
            budgetUntil: nil
        )
        return Device(
            key: key,
            facts: .init(
                environment: try .stored(home),
                isWanted: try row["is_wanted"],
                obstacle: obstacle?.word,
                hasSuspectStartToken: try row["has_suspect_token"],
                appVersion: try row["app_version"]
            )
        )
    }
}
