package import ActivityModel
import Cards
package import Postgres
import Registry
import Store

/// A start that is due, with what its claim depends on.
package struct DueStart: Sendable {
    package let deviceKey: Int64
    package let machine: StartStateMachine
    package let token: PushToken?
    package let osVersion: OSVersion?
    /// As in ``CardVersions``.
    package let appVersion: String
    /// The known facts about apps of this version; nil: none yet.
    package let decoding: StartVersions.Decoding?
    package let activitiesEnabled: Bool
    package let frequent: Bool
    package let deviceToken: PushToken?
    package let isWanted: Bool
    package let isReported: Bool
    package let isContinuation: Bool
    package let spending: StartSpending
    /// The database's clock.
    package let now: PGTimestamp

    /// Reads the columns that ``read(_:in:on:)`` selects.
    fileprivate init(_ row: Row) throws {
        deviceKey = try row["device_key"]
        machine = StartStateMachine(
            state: try .stored(row["state"]),
            attempts: try row["attempts"],
            failures: try row["failures"],
            hasFallenBack: try row["fell_back"]
        )
        token = try (row["token"] as [UInt8]?).flatMap(PushToken.init(bytes:))
        osVersion = try (row["os_version"] as String?).flatMap(OSVersion.init)
        appVersion = try row["app_version"]
        let isWithheld: Bool? = try row["is_withheld"]
        let decodesFrom: Int64? = try row["decodes_from"]
        decoding = isWithheld.map { StartVersions.Decoding(isWithheld: $0, since: decodesFrom ?? 0) }
        activitiesEnabled = try row["activities_enabled"]
        frequent = try row["frequent_pushes_enabled"]
        deviceToken = try (row["device_token"] as [UInt8]?).flatMap(PushToken.init(bytes:))
        isWanted = try row["is_wanted"]
        isReported = try row["is_reported"]
        isContinuation = try row["is_continuation"]
        let times: [PGTimestamp] = try row["times"]
        let counts: [Int16] = try row["counts"]
        spending = StartSpending(
            zip(times, counts).map { StartSpending.Unit(at: $0.microseconds, count: Int($1)) }
        )
        now = try row["now"]
    }
}

extension DueStart {
    /// A position in the order in which starts are due.
    package struct Position: Sendable {
        /// Before all of them.
        package static let beginning = Position(dueAt: PGTimestamp(microseconds: 0), deviceKey: 0)

        let dueAt: PGTimestamp
        let deviceKey: Int64

        package init(dueAt: PGTimestamp, deviceKey: Int64) {
            self.dueAt = dueAt
            self.deviceKey = deviceKey
        }
    }

    /// The statement that locks the next starts that are due, with their devices, except those that somebody else has locked.
    /// It returns `device_key` and `due_at`, in their order.
    ///
    /// - Parameters:
    ///   - activityKey: The activity of the starts.
    ///   - last: The place of the last start before them.
    ///   - end: Only starts that were due before that.
    ///   - limit: How many at most.
    /// - Returns: The statement.
    package static func lock(
        in activityKey: Int64,
        behind last: Position,
        before end: PGTimestamp?,
        limit: Int
    ) -> Query {
        """
        SELECT s.device_key, s.due_at
        FROM starts AS s JOIN devices AS d ON \(unescaped: Query.byKey("d", "s", "device_key"))
        WHERE s.activity_key = \(activityKey) AND (s.due_at, s.device_key) > (\(last.dueAt), \(last.deviceKey))
          AND s.due_at <= now() AND s.due_at < coalesce(\(end), 'infinity')
        ORDER BY s.due_at, s.device_key LIMIT \(limit)
        FOR NO KEY UPDATE OF s, d SKIP LOCKED
        """
    }

    /// Reads locked starts of an activity by their devices.
    ///
    /// One by one by key: the activity is locked meanwhile, so no plan may read all of its starts.
    package static func read(
        _ keys: [Int64],
        in activity: ActivitySnapshot,
        on connection: PostgresConnection
    ) async throws -> [DueStart] {
        let window = Duration.seconds(activity.policy.startBudget.windowSeconds)
        let rows = try await connection.query(
            """
            SELECT s.device_key, s.state::text, s.attempts, s.failures, s.fell_back, t.token, d.os_version,
                   d.activities_enabled, d.frequent_pushes_enabled, \(unescaped: UsableToken.ofDevice) AS device_token,
                   \(unescaped: AudienceCoverage.condition) AS is_wanted, spent.times, spent.counts,
                   clock_timestamp() AS now, \(unescaped: CardVersions.appVersion) AS app_version, v.is_withheld,
                   v.decodes_from, \(unescaped: isReported) AS is_reported,
                   coalesce(card.is_begun, false) AS is_continuation
            FROM unnest(\(keys)) AS k(device_key)
            CROSS JOIN LATERAL (
                SELECT * FROM starts
                WHERE activity_key = \(activity.key) AND starts.device_key = k.device_key OFFSET 0
            ) AS s
            CROSS JOIN LATERAL (SELECT * FROM devices WHERE device_key = s.device_key OFFSET 0) AS d
            JOIN activities AS a ON a.activity_key = \(activity.key)
            LEFT JOIN LATERAL (
                SELECT is_withheld, decodes_from FROM activity_app_versions AS w
                WHERE w.activity_key = s.activity_key AND w.app_version = \(unescaped: CardVersions.appVersion) OFFSET 0
            ) AS v ON true
            LEFT JOIN LATERAL \(unescaped: StartTokenState.liveToken(device: "s.device_key", type: "a.type_name")) AS t ON true
            LEFT JOIN LATERAL (
                SELECT c.state, \(unescaped: Continuations.isBegun("c")) AS is_begun FROM subscriptions AS c
                WHERE c.activity_key = s.activity_key AND c.device_key = s.device_key OFFSET 0
            ) AS card ON true
            CROSS JOIN LATERAL (
                SELECT coalesce(array_agg(u.at), '{}') AS times, coalesce(array_agg(u.count), '{}') AS counts
                FROM (
                    \(part: StartRows.spent(by: "s.device_key", within: window))
                ) AS u
            ) AS spent
            ORDER BY s.device_key
            """
        )
        return try rows.map { try DueStart($0) }
    }

    /// The condition that the start has a `card` already. A report settles the starts that it finds. It misses a
    /// start that an audience makes at that moment. But the report holds the device until its card can be seen, so
    /// nothing is claimed for the device in between. A card that waits for its token may exist or not. A card that the
    /// start is to continue does not count.
    private static let isReported = "coalesce(card.state <> 'waiting_for_token' AND NOT card.is_begun, false)"
}
