import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Registry
import Store

/// A start that this worker may send, or an alert to replace it.
struct ClaimedStart: Sendable {
    let deviceKey: Int64
    /// The start as its claim was stored.
    let machine: StartStateMachine
    /// Tells this claim from a later one of the same start.
    let claimedAt: PGTimestamp
    /// Nil if an alert replaces the start.
    let token: PushToken?
    let capability: DeviceCapability
    /// The token for ordinary pushes to the device.
    let deviceToken: PushToken?
    let frequent: Bool
    /// Whether its card takes the place of an older one (``Continuations``).
    let isContinuation: Bool
}

/// Claims starts by row before they leave, in one transaction that locks them, their devices and the activity.
///
/// The locks on devices make the start budget exact: two activities never spend the same unit of one phone. Skips
/// devices that another transaction has locked, so that claims never wait for a device.
///
/// Each claim reads anew whether its device is still there and in the audience. However long ago the start was made, a
/// device that was removed before the claim gets none.
struct StartClaims: Sendable {
    let room: DeliveryRoom
    let lease: SegmentLease
    let activity: ActivitySnapshot
    /// The delivery of the activity, or its substitute for now.
    let delivery: Delivery
    /// What the starts bring: the newest change when the worker looked.
    let change: ChangeToSend

    /// How many starts are claimed at once. A crash between claim and answer leaves so many in doubt.
    static let batchSize = 250

    /// A place in the order in which starts are due.
    struct Place: Sendable {
        /// Before all of them.
        static let beginning = Place(dueAt: PGTimestamp(microseconds: 0), deviceKey: 0)

        let dueAt: PGTimestamp
        let deviceKey: Int64
    }

    struct Batch: Sendable {
        /// To be sent.
        var starts: [ClaimedStart] = []
        /// Starts that an alert replaces.
        var alerts: [ClaimedStart] = []
        /// How many were due and free, whatever was decided about them.
        var count = 0
        /// The last of these.
        var last: Place?
        /// When the first of its claims may be repeated; nil if it has none.
        var repeatsAt: PGTimestamp?
    }

    /// Claims the next batch of starts that are due.
    ///
    /// - `last`: the end of the batch before. The server then need not walk over the index entries of earlier claims,
    ///   which stay until it has cleaned up. Starts before it that were locked are found from the beginning.
    /// - `limit`: when the first claim that is on its way may be repeated. A claim that may be repeated at once is due
    ///   while its push is on its way.
    /// - `isFirst`: a newer change stops this only if it is the end, as in
    ///   ``SegmentStore/mayGoOn(_:with:isFirst:)``. Such a change holds back a start only if nobody knows whether its
    ///   app decodes the older state. Otherwise constant updates would keep everyone from starting.
    ///
    /// - Returns: Nil if no start may leave now with this change: no start follows a committed end.
    /// - Throws: ``LeaseLost``; then nothing is claimed.
    func claim(behind last: Place, before limit: PGTimestamp?, isFirst: Bool) async throws -> Batch? {
        try await room.segments.prolonging(lease) {
            try await room.registry.withCurrentType {
                let type = try await room.registry.typeContext(activity.bundleID, activity.typeName)
                return try await claim(type, behind: last, before: limit, isFirst)
            }
        }
    }

    private func claim(
        _ type: TypeContext,
        behind last: Place,
        before limit: PGTimestamp?,
        _ isFirst: Bool
    ) async throws -> Batch? {
        try await room.database.withTransaction { connection in
            let locked = try await connection.pipeline([
                .planningOnce,
                SegmentStore.permission(lease, with: activity, isFirst: isFirst),
                TypeVersionRows.hold([type]),
                // A send later than 30 s after its stamp takes a fresh one (promise 3).
                """
                SELECT a.revision, EXISTS (
                    SELECT FROM changes AS c
                    WHERE c.activity_key = a.activity_key AND c.revision = \(change.revision)
                      AND c.timestamp = \(change.timestamp)
                      AND clock_timestamp() - c.stamped_at <= \(Duration.seconds(Stamping.maximumAge)))
                FROM activities AS a WHERE a.activity_key = \(activity.key) AND a.state = 'live' FOR SHARE
                """,
                // Also the first plan, which is made while there are few starts, must not sort all starts of the activity.
                .unsorted(true),
                """
                SELECT s.device_key, s.due_at
                FROM starts AS s JOIN devices AS d ON \(unescaped: Query.byKey("d", "s", "device_key"))
                WHERE s.activity_key = \(activity.key) AND (s.due_at, s.device_key) > (\(last.dueAt), \(last.deviceKey))
                  AND s.due_at <= now() AND s.due_at < coalesce(\(limit), 'infinity')
                ORDER BY s.due_at, s.device_key LIMIT \(activity.batch(Self.batchSize))
                FOR NO KEY UPDATE OF s, d SKIP LOCKED
                """,
                .unsorted(false),
            ])
            guard try SegmentStore.mayGoOn(locked[1]) else { return nil }
            try type.check(TypeVersionRows.updates(locked[2]))
            guard let (newest, isFresh) = try locked[3].first(as: (Int64, Bool).self), isFresh else { return nil }
            let free = try locked[5].decoded(as: (Int64, PGTimestamp).self)
            guard let end = free.last else { return Batch() }
            // A second statement: what was spent on a device until it was locked is seen.
            let due = try await read(free.map(\.0), on: connection)
            var verdicts = StartVersions(
                activity,
                type,
                newest: newest,
                try await content(of: newest, on: connection)
            )
            var batch = Batch()
            batch.count = free.count
            batch.last = Place(dueAt: end.1, deviceKey: end.0)
            var decisions: [Decision] = []
            for start in due where try verdicts.knows(start.appVersion, start.decoding) {
                let (decision, claimed) = try decide(start, &verdicts)
                decisions.append(decision)
                switch decision.action {
                case .start: batch.starts.append(claimed)
                case .alert: batch.alerts.append(claimed)
                case .wait, .rest: break
                }
            }
            batch.repeatsAt = decisions.filter(\.isClaim).compactMap(dueAt).min()
            let isOnChannel = batch.starts.contains { $0.capability == .withInputPushChannel }
            _ = try await connection.commit(
                [store(decisions)] + verdicts.statements + (isOnChannel ? [LateStarts.begin(of: activity)] : [])
            )
            return batch
        }
    }

    /// The state that what the apps can decode is judged for.
    private func content(of newest: Revision, on connection: PostgresConnection) async throws -> CompactJSON {
        guard newest != activity.newest else { return change.contentState }
        let rows = try await connection.query(
            "SELECT content_state::text FROM changes WHERE activity_key = \(activity.key) AND revision = \(newest)"
        )
        return try rows.single(String.self).map { CompactJSON(stored: Array($0.utf8)) } ?? change.contentState
    }

    // MARK: What is due

    private struct Due {
        let deviceKey: Int64
        let machine: StartStateMachine
        let token: PushToken?
        let osVersion: OSVersion?
        /// As in ``CardVersions``.
        let appVersion: String
        /// The known facts about apps of this version; nil: none yet.
        let decoding: StartVersions.Decoding?
        let activitiesEnabled: Bool
        let frequent: Bool
        let deviceToken: PushToken?
        let isWanted: Bool
        let isReported: Bool
        let isContinuation: Bool
        let spending: StartSpending
        /// The database's clock.
        let now: PGTimestamp

        /// Reads the columns that ``StartClaims/read(_:on:)`` selects.
        init(_ row: Row) throws {
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

    /// One by one by key: the activity is locked meanwhile, so no plan may read all of its starts.
    private func read(_ keys: [Int64], on connection: PostgresConnection) async throws -> [Due] {
        let window = Duration.seconds(activity.policy.startBudget.windowSeconds)
        let rows = try await connection.query(
            """
            SELECT s.device_key, s.state::text, s.attempts, s.failures, s.fell_back, t.token, d.os_version,
                   d.activities_enabled, d.frequent_pushes_enabled, d.device_token,
                   \(unescaped: AudienceCoverage.condition) AS is_wanted, spent.times, spent.counts,
                   clock_timestamp() AS now, \(unescaped: CardVersions.appVersion) AS app_version, v.is_withheld,
                   v.decodes_from, \(unescaped: Self.isReported) AS is_reported,
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
            LEFT JOIN LATERAL (
                SELECT w.token FROM start_tokens AS w
                WHERE w.device_key = s.device_key AND w.type_name = a.type_name AND w.state = 'live' OFFSET 0
            ) AS t ON true
            LEFT JOIN LATERAL (
                SELECT c.state, \(unescaped: Continuations.isBegun("c")) AS is_begun FROM subscriptions AS c
                WHERE c.activity_key = s.activity_key AND c.device_key = s.device_key OFFSET 0
            ) AS card ON true
            CROSS JOIN LATERAL (
                SELECT coalesce(array_agg(u.at), '{}') AS times, coalesce(array_agg(u.count), '{}') AS counts
                FROM (
                    SELECT o.claimed_at AS at, o.attempts AS count FROM starts AS o
                    WHERE o.device_key = s.device_key AND o.claimed_at > now() - \(window) AND o.attempts > 0
                    UNION ALL
                    SELECT k.started_at, k.attempts FROM continuations AS k
                    WHERE k.device_key = s.device_key AND k.started_at > now() - \(window) AND k.attempts > 0
                ) AS u
            ) AS spent
            ORDER BY s.device_key
            """
        )
        return try rows.map { try Due($0) }
    }

    /// The condition that the start has a `card` already. A report settles the starts that it finds. It misses a
    /// start that an audience makes at that moment. But the report holds the device until its card can be seen, so
    /// nothing is claimed for the device in between. A card that waits for its token may exist or not. A card that the
    /// start is to continue does not count.
    private static let isReported = "coalesce(card.state <> 'waiting_for_token' AND NOT card.is_begun, false)"

    // MARK: What becomes of it

    private struct Decision {
        let deviceKey: Int64
        let machine: StartStateMachine
        let action: StartStateMachine.DueAction
        let now: PGTimestamp

        var isClaim: Bool { action == .start || action == .alert }
    }

    /// When it is due again; nil: not as time passes.
    private func dueAt(_ decision: Decision) -> PGTimestamp? {
        switch decision.action {
        case .start, .alert:
            let retry = Int64(activity.policy.startRetrySeconds) * 1_000_000
            return PGTimestamp(microseconds: decision.now.microseconds + retry)
        case .wait(let until): return until.map(PGTimestamp.init(microseconds:))
        case .rest: return nil
        }
    }

    private func decide(_ due: Due, _ versions: inout StartVersions) throws -> (Decision, ClaimedStart) {
        let capability = DeviceCapability(
            osVersion: due.osVersion,
            activitiesEnabled: due.activitiesEnabled,
            delivery: delivery
        )
        var machine = due.machine
        let action = machine.isDue(
            isWanted: due.isWanted,
            isReported: due.isReported,
            obstacle: try obstacle(due, capability, &versions),
            // A device with a card needs no alert to replace it.
            mayAlert: activity.policy.fallbackAlert && due.deviceToken != nil && !due.isContinuation
        )
        let claimed = ClaimedStart(
            deviceKey: due.deviceKey,
            machine: machine,
            claimedAt: due.now,
            token: due.token,
            capability: capability,
            deviceToken: due.deviceToken,
            frequent: due.frequent,
            isContinuation: due.isContinuation
        )
        return (Decision(deviceKey: due.deviceKey, machine: machine, action: action, now: due.now), claimed)
    }

    private func obstacle(
        _ due: Due,
        _ capability: DeviceCapability,
        _ versions: inout StartVersions
    ) throws -> StartStateMachine.Obstacle? {
        try .first(
            capability: capability,
            isDecodable: versions.mayStart(
                due.appVersion,
                due.decoding,
                onChannel: capability == .withInputPushChannel
            ),
            hasToken: due.token != nil,
            budgetUntil: due.spending.wait(under: activity.policy.startBudget, now: due.now.microseconds)
        )
    }

    private func store(_ decisions: [Decision]) -> Query {
        let decided = decisions.map {
            StartRows.Decided(
                deviceKey: $0.deviceKey,
                machine: $0.machine,
                isClaim: $0.isClaim,
                now: $0.now,
                dueAt: dueAt($0)
            )
        }
        return StartRows.decided(decided, of: activity.key, newest: activity.newest)
    }
}
