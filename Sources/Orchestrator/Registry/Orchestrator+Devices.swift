package import APITypes
package import ActivityModel
import Cryptography
import JSON
import Postgres
import Store

extension Orchestrator {
    /// Takes what an app reports of its installation; what the report leaves out keeps what is stored.
    ///
    /// A start token is replaced by a report of the same or a later generation, or of none. An older one changes
    /// nothing. Neither does a report of an installation that was replaced (``Installations``).
    ///
    /// A device belongs to one environment: a report of the other one is a new installation of another build, so the
    /// tokens of the old one are dropped and its subscriptions and starts are over. Cards that the new one has reported
    /// before itself stay.
    ///
    /// - Throws: 404 for an unknown app.
    package func putDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> DeviceResource {
        try await putDevice(app, id, request, idempotency: nil)
    }

    /// The same as an operation of a batch, which may have a key. A repeated one is answered with the device as it is
    /// now.
    ///
    /// - Throws: 404 also for a repeated request about a device that has been deleted since.
    func putDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest,
        idempotency: IdempotencyKey?
    ) async throws -> DeviceResource {
        let (key, device) = try await keepingAnswer {
            try await takingDevice { connection in
                var key: Int64?
                _ = try await KeptAnswers.once(idempotency, status: 200, on: connection) {
                    key = try await storeDevice(app, id, request, connection).key
                    return KeptRegistration()
                }
                if key == nil { key = try await Self.key(of: id, app, connection) }
                // Nil if it has been deleted since it was answered.
                guard let key, let device = try await Self.device(key: key, connection) else {
                    throw Problem.notFound("the device")
                }
                return (key, device)
            }
        }
        // Also after a repeated request: the first may have been committed just before its daemon died.
        try await registered(key, request)
        return device
    }

    /// The same for a caller who is told nothing of the device: the bearer of a ticket.
    ///
    /// - Returns: Nil if all of the report was taken, else why not.
    /// - Throws: 404 for an unknown app.
    package func registerDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest
    ) async throws -> StaleReport? {
        let stored = try await takingDevice { try await storeDevice(app, id, request, $0) }
        try await registered(stored.key, request)
        return stored.stale
    }

    /// What a committed report gives to do before it is answered.
    private func registered(_ deviceKey: Int64, _ request: DeviceRequest) async throws {
        if !request.startTokens.isEmpty {
            _ = try await database.execute(TokenOwners.startTokens(of: deviceKey))
        }
        try await enrol(deviceKey: deviceKey)
    }

    /// A transaction that stores a report. An audience is a standing rule: enrol the device before the report is
    /// answered, so that an app whose report was answered is enrolled.
    private func takingDevice<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        try await withCurrentType { try await database.withTransaction { try await body($0) } }
    }

    /// - Returns: The key of the device, and what was not taken of the report.
    private func storeDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest,
        _ connection: PostgresConnection
    ) async throws -> (key: Int64, stale: StaleReport?) {
        try await requireApp(app, connection)
        let stored = try await Self.storeDevice(app, id, request, connection)
        if stored.isStale { return (stored.key, .installation) }
        if stored.movedEnvironment {
            _ = try await connection.pipeline(Self.reinstallation(deviceKey: stored.key, in: request.environment))
        } else if stored.changedBudgetClass, let frequent = request.frequentPushesEnabled {
            _ = try await connection.execute(
                """
                UPDATE subscriptions SET frequent = \(frequent)
                WHERE device_key = \(stored.key) AND frequent <> \(frequent) AND state <> 'over'
                """
            )
        }
        if stored.changedApp {
            try await AppVersionAdmission(orchestrator: self).readmit(stored.key, on: connection)
        }
        if stored.changedInstallation {
            _ = try await connection.pipeline(Installations.restart(deviceKey: stored.key))
        }
        try await Self.storeStartTokens(request.startTokens, deviceKey: stored.key, connection)
        let isStale = try await Self.hasNewer(request.startTokens, deviceKey: stored.key, connection)
        return (stored.key, isStale ? .generation : nil)
    }

    private struct StoredDevice {
        let key: Int64
        var isStale = false
        var movedEnvironment = false
        var changedBudgetClass = false
        var changedApp = false
        var changedInstallation = false
    }

    /// Inserts or merges the row of the device, and locks it: reports of one device are taken one after the other.
    private static func storeDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest,
        _ connection: PostgresConnection
    ) async throws -> StoredDevice {
        let hasGeneration = request.startTokens.values.contains { $0.generation != nil } ? "true" : "false"
        // The first statement locks an existing row, so that the second one compares with what is really stored.
        let answers = try await connection.pipeline([
            """
            SELECT environment = \(request.environment.rawValue)::apns_environment, frequent_pushes_enabled,
                   app_version IS DISTINCT FROM coalesce(\(request.appVersion?.description), app_version),
                   device_key, \(unescaped: Installations.isStale("r.installation", hasGeneration: hasGeneration)),
                   \(unescaped: Installations.isNew("r.installation"))
            FROM devices AS d CROSS JOIN (SELECT \(request.installation)::text AS installation) AS r
            WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue) FOR NO KEY UPDATE OF d
            """,
            """
            INSERT INTO devices AS d (bundle_id, device_id, environment, user_id, os_version, app_version,
                                      activities_enabled, frequent_pushes_enabled, device_token, installation)
            VALUES (\(app.rawValue), \(id.rawValue), \(request.environment.rawValue)::apns_environment,
                    \(request.user.id?.rawValue), \(request.osVersion?.description), \(request.appVersion?.description),
                    coalesce(\(request.activitiesEnabled), true), coalesce(\(request.frequentPushesEnabled), false),
                    \(request.deviceToken?.bytes), \(request.installation))
            ON CONFLICT (bundle_id, device_id) DO UPDATE
            SET environment = EXCLUDED.environment,
                user_id = CASE WHEN \(request.user == .unsaid) THEN d.user_id ELSE EXCLUDED.user_id END,
                os_version = coalesce(EXCLUDED.os_version, d.os_version),
                app_version = coalesce(EXCLUDED.app_version, d.app_version),
                activities_enabled = coalesce(\(request.activitiesEnabled), d.activities_enabled),
                frequent_pushes_enabled = coalesce(\(request.frequentPushesEnabled), d.frequent_pushes_enabled),
                device_token = CASE WHEN d.environment = EXCLUDED.environment
                    THEN coalesce(EXCLUDED.device_token, d.device_token) ELSE EXCLUDED.device_token END,
                \(unescaped: Installations.assignments("EXCLUDED.installation")),
                updated_at = now()
            WHERE NOT \(unescaped: Installations.isStale("EXCLUDED.installation", hasGeneration: hasGeneration))
            RETURNING device_key
            """,
        ])
        guard let before = try answers[0].first(as: (Bool, Bool, Bool, Int64, Bool, Bool).self) else {
            // It was not there before.
            guard let key = try answers[1].single(Int64.self) else { throw Problem.notFound("the device") }
            return StoredDevice(key: key)
        }
        let (hasSameEnvironment, frequent, changedApp, key, isStale, isNewInstallation) = before
        if isStale { return StoredDevice(key: key, isStale: true) }
        return StoredDevice(
            key: key,
            movedEnvironment: !hasSameEnvironment,
            changedBudgetClass: frequent != (request.frequentPushesEnabled ?? frequent),
            changedApp: changedApp,
            changedInstallation: isNewInstallation
        )
    }

    /// Drops what belonged to the installation in the other environment.
    private static func reinstallation(deviceKey: Int64, in environment: APNSEnvironment) -> [Query] {
        [
            "DELETE FROM start_tokens WHERE device_key = \(deviceKey)",
            """
            UPDATE subscriptions AS s SET state = 'over', due_at = NULL,
                reason = '\(unescaped: OverReason.environmentChanged.rawValue)'
            FROM activities AS a
            WHERE s.device_key = \(deviceKey) AND s.state <> 'over' AND a.activity_key = s.activity_key
              AND a.environment <> \(environment.rawValue)::apns_environment
            """,
            """
            UPDATE starts AS s SET state = 'cancelled', due_at = NULL,
                reason = '\(unescaped: StartStateMachine.Reason.environmentChanged.rawValue)'
            FROM activities AS a
            WHERE s.device_key = \(deviceKey) AND s.state NOT IN ('sent', 'settled', 'cancelled')
              AND a.activity_key = s.activity_key AND a.environment <> \(environment.rawValue)::apns_environment
            """,
        ]
    }

    /// Stores reported start tokens, unless a later generation is known. A device keeps as many as it may report at
    /// once: beyond them those go that were reported longest ago.
    private static func storeStartTokens(
        _ tokens: [ActivityTypeName: StartTokenRequest],
        deviceKey: Int64,
        _ connection: PostgresConnection
    ) async throws {
        guard !tokens.isEmpty else { return }
        let reports = tokens.sorted { $0.key < $1.key }
        _ = try await connection.pipeline([
            """
            INSERT INTO start_tokens (device_key, type_name, token, generation)
            SELECT \(deviceKey), report.type_name, report.token, coalesce(report.generation, known.generation, 0)
            FROM unnest(\(reports.map(\.key.rawValue)), \(reports.map(\.value.token.bytes)), \(reports.map(\.value.generation)))
                AS report (type_name, token, generation)
            LEFT JOIN start_tokens AS known
                ON known.device_key = \(deviceKey) AND known.type_name = report.type_name
            WHERE report.generation IS NULL OR known.generation IS NULL OR report.generation >= known.generation
            ON CONFLICT (device_key, type_name) DO UPDATE
            SET token = EXCLUDED.token, generation = EXCLUDED.generation, state = 'live', registered_at = now(),
                contradictions = 0
            """,
            """
            DELETE FROM start_tokens WHERE device_key = \(deviceKey) AND type_name IN (
                SELECT type_name FROM start_tokens WHERE device_key = \(deviceKey)
                ORDER BY registered_at DESC, type_name OFFSET \(DeviceRequest.maximumStartTokens)
            )
            """,
        ])
    }

    /// Whether a later generation than the reported one is stored of a token.
    private static func hasNewer(
        _ tokens: [ActivityTypeName: StartTokenRequest],
        deviceKey: Int64,
        _ connection: PostgresConnection
    ) async throws -> Bool {
        let reports = tokens.compactMap { name, token in token.generation.map { (name.rawValue, $0) } }
        guard !reports.isEmpty else { return false }
        let rows = try await connection.query(
            """
            SELECT EXISTS (
                SELECT FROM unnest(\(reports.map(\.0)), \(reports.map(\.1))) AS report (type_name, generation)
                JOIN start_tokens AS known
                    ON known.device_key = \(deviceKey) AND known.type_name = report.type_name
                WHERE known.generation > report.generation
            )
            """
        )
        return try rows.single(Bool.self) ?? false
    }

    // MARK: Forgetting

    /// Forgets a device with its tokens, subscriptions, rows of the timeline and events.
    ///
    /// - Throws: 404.
    package func deleteDevice(_ app: BundleID, _ id: DeviceID) async throws {
        try await database.withTransaction { connection in
            let deleted = try await TimelineErasure.delete(
                "DELETE FROM devices WHERE bundle_id = \(app.rawValue) AND device_id = \(id.rawValue) RETURNING device_key, device_id",
                of: app,
                on: connection
            )
            if deleted == 0 { throw Problem.notFound("the device") }
            try await AuditRows.record(.deviceDeleted, of: app, AuditRows.person(id.rawValue), on: connection)
        }
    }

    /// Erases a user: devices, tokens, subscriptions, rows of the timeline, events of the devices, and every mention in
    /// an audience. May be repeated.
    ///
    /// - Throws: 404 for an unknown app.
    package func eraseUser(_ app: BundleID, _ id: UserID) async throws {
        try await database.withYieldingTransaction { connection in
            try await requireApp(app, connection)
            let devices = try await UserErasure.devices(app, id, on: connection)
            let activities = try await UserErasure.activities(app, id, devices, on: connection)
            // Before the devices, as who deletes one of them does.
            _ = try await connection.query(TimelineErasure.exclusion(isForWriter: false))
            _ = try await connection.query(UserErasure.hold(app, id))
            try await UserErasure.starts(of: activities, id, devices, on: connection)
            _ = try await connection.execute(UserErasure.audience(app, id))
            let deleted = try await TimelineErasure.delete(
                "DELETE FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(id.rawValue) RETURNING device_key, device_id",
                of: app,
                on: connection
            )
            // Otherwise a signed ticket of the user, which may live for weeks, would bring the user back.
            _ = try await connection.execute(
                """
                INSERT INTO ticket_revocations (bundle_id, subject_sha256, revoked_before)
                SELECT \(app.rawValue), \(TicketSubject.user(id).sha256), clock_timestamp()
                WHERE EXISTS (SELECT FROM ticket_keys WHERE bundle_id = \(app.rawValue))
                \(unescaped: Self.laterRevocationWins)
                """
            )
            let erased: JSONValue = ["devices": .number(JSONNumber(deleted))]
            try await AuditRows.record(
                .userErased,
                of: app,
                AuditRows.person(id.rawValue),
                before: erased,
                on: connection
            )
        }
    }
}
