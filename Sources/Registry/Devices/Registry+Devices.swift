import APITypes
package import ActivityModel
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
}
