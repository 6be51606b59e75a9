import APITypes
package import ActivityModel
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
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

    /// Erases a user: devices, tokens, subscriptions, topics, rows of the timeline, events of the devices, and every
    /// mention in an audience. May be repeated.
    ///
    /// - Throws: 404 for an unknown app.
    package func eraseUser(_ app: BundleID, _ id: UserID) async throws {
        try await database.withYieldingTransaction { connection in
            try await store.requireApp(app, connection)
            let devices = try await UserErasure.devices(app, id, on: connection)
            let activities = try await UserErasure.activities(
                app,
                id,
                devices,
                pageSize: settings.stretchSize,
                on: connection
            )
            // Before the devices, as who deletes one of them does.
            _ = try await connection.query(TimelineErasure.exclusion(isForWriter: false))
            _ = try await connection.query(UserErasure.hold(app, id))
            try await UserErasure.starts(of: activities, id, devices, on: connection)
            _ = try await connection.execute(UserErasure.audience(app, id))
            _ = try await connection.execute(TopicRows.erasure(of: id, in: app))
            let deleted = try await TimelineErasure.delete(
                "DELETE FROM devices WHERE bundle_id = \(app.rawValue) AND user_id = \(id.rawValue) RETURNING device_key, device_id",
                of: app,
                on: connection
            )
            // Otherwise a signed ticket of the user, which may live for weeks, would bring the user back.
            _ = try await connection.execute(
                """
                INSERT INTO ticket_revocations (bundle_id, subject_sha256, revoked_before)
                SELECT \(app.rawValue), \(UserOrDevice.user(id).sha256), clock_timestamp()
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
