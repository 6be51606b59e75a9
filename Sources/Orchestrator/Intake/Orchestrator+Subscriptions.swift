package import APITypes
package import ActivityModel
import JSON
import Postgres

extension Orchestrator {
    /// Takes what an app reports of one card. What the card lacks is sent at once (promise 7).
    ///
    /// A report with an older generation than the stored one changes nothing. A card that does not say what it shows is
    /// believed to show what its start or the last accepted push carried; a token that replaces another is all the same
    /// sent what the phone has not confirmed, because pushes to the old token may have been lost without a word. A report
    /// of a card whose 8 hours are over is answered with `over`, and nothing is sent.
    ///
    /// - Throws: 404 for an unknown activity; 422 for a device that is unknown and names no environment, or the other one.
    package func subscribe(
        _ app: BundleID,
        _ activity: ActivityID,
        _ device: DeviceID,
        _ request: SubscriptionRequest
    ) async throws -> SubscriptionAnswer {
        let facts = try await facts(app, activity)
        let answer = try await withCurrentType {
            try await database.withTransaction { connection in
                let (deviceKey, hasChanged) = try await Self.subscriber(
                    app,
                    device,
                    request,
                    facts.environment,
                    on: connection
                )
                let admission = AppVersionAdmission(orchestrator: self, deviceKey: deviceKey)
                let key = request.report.isByToken ? facts.key : nil
                if hasChanged {
                    try await admission.readmit(andTo: key, on: connection)
                } else if let key {
                    try await admission.admit(to: [key], on: connection)
                }
                let report = SubscriptionReport(facts: facts, deviceKey: deviceKey, request: request)
                return try await report.store(activity, device, on: connection)
            }
        }
        wakeUps.signal()
        return answer
    }

    /// Ends the card on the phone, then forgets it. A card that has not reported its token yet is ended when it does; one
    /// that listens to a channel cannot be ended alone, and is only counted no more; so is one whose app could not decode
    /// the newest state. An audience that the device belongs
    /// to does not start it again.
    ///
    /// - Throws: 404.
    package func unsubscribe(_ app: BundleID, _ activity: ActivityID, _ device: DeviceID) async throws {
        let facts = try await facts(app, activity)
        let found = try await database.withTransaction { connection in
            let cards = try await connection.query(
                """
                SELECT s.device_key FROM subscriptions AS s JOIN devices AS d USING (device_key)
                WHERE d.bundle_id = \(app.rawValue) AND d.device_id = \(device.rawValue) AND s.activity_key = \(facts.key)
                """
            )
            guard let deviceKey = try cards.single(Int64.self) else { return false }
            _ = try await connection.pipeline([
                AppVersionRows.hold([facts.key], deviceKey: deviceKey),
                """
                UPDATE subscriptions AS s
                SET leaving = true, failures = 0,
                    state = CASE WHEN s.state = 'waiting_for_token' THEN s.state
                        WHEN s.update_token IS NULL THEN 'over' ELSE 'due' END,
                    due_at = CASE WHEN s.update_token IS NOT NULL THEN clock_timestamp() END
                WHERE s.activity_key = \(facts.key) AND s.device_key = \(deviceKey)
                """,
                AppVersionRows.alignment([facts.key], deviceKey: deviceKey),
                """
                INSERT INTO starts (activity_key, device_key, state)
                SELECT s.activity_key, s.device_key, 'settled' FROM subscriptions AS s
                WHERE s.activity_key = \(facts.key) AND s.device_key = \(deviceKey)
                ON CONFLICT (activity_key, device_key) DO NOTHING
                """,
                SegmentStore.announce(activityKeys: [facts.key]),
            ])
            return true
        }
        guard found else { throw Problem.notFound("the subscription") }
        wakeUps.signal()
    }

    private static func subscriber(
        _ app: BundleID,
        _ device: DeviceID,
        _ request: SubscriptionRequest,
        _ environment: APNSEnvironment,
        on connection: PostgresConnection
    ) async throws -> (deviceKey: Int64, hasChanged: Bool) {
        let results = try await connection.pipeline([
            """
            UPDATE devices
            SET os_version = coalesce(\(request.osVersion?.description), os_version),
                app_version = coalesce(\(request.appVersion?.description), app_version)
            WHERE bundle_id = \(app.rawValue) AND device_id = \(device.rawValue)
              AND (\(request.osVersion?.description) <> os_version OR \(request.appVersion?.description) <> app_version
                   OR (os_version IS NULL AND \(request.osVersion?.description)::text IS NOT NULL)
                   OR (app_version IS NULL AND \(request.appVersion?.description)::text IS NOT NULL))
            """,
            """
            SELECT device_key, environment::text FROM devices
            WHERE bundle_id = \(app.rawValue) AND device_id = \(device.rawValue)
            """,
        ])
        if let (key, word) = try results[1].first(as: (Int64, String).self) {
            try check(request.environment ?? .stored(word), is: environment)
            return (key, results[0].affectedRows > 0)
        }
        guard let named = request.environment else {
            throw Problem.invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.missing,
                message: "'environment' is required for a device that is not registered yet."
            )
        }
        try check(named, is: environment)
        let new = try await connection.query(
            """
            INSERT INTO devices (bundle_id, device_id, environment, os_version, app_version)
            VALUES (\(app.rawValue), \(device.rawValue), \(named.rawValue)::apns_environment,
                    \(request.osVersion?.description), \(request.appVersion?.description))
            ON CONFLICT (bundle_id, device_id) DO UPDATE SET updated_at = now()
            RETURNING device_key
            """
        )
        guard let key = try new.single(Int64.self) else { throw Problem.internalError() }
        return (key, false)
    }

    private static func check(_ environment: APNSEnvironment, is expected: APNSEnvironment) throws(Problem) {
        guard environment != expected else { return }
        throw .invalidRequest(
            pointer: JSONPointer().appending("environment"),
            code: FieldError.invalidValue,
            message: "The device is in '\(environment.rawValue)', the activity in '\(expected.rawValue)'."
        )
    }
}
