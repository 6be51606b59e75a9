package import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Registry
import ReportTypes
import Store

extension Intake {
    /// Erases a user: devices, tokens, subscriptions, topics, rows of the timeline, events of the devices, and every
    /// mention in an audience. May be repeated.
    ///
    /// - Throws: 404 for an unknown app.
    package func eraseUser(_ app: BundleID, _ id: UserID) async throws {
        var devices: [String] = []
        var lastOldKey: Int64
        repeat {
            lastOldKey = try await database.query(ActivityRows.lastOldKey).first(as: Int64.self) ?? 0
            devices = try await database.query(DeviceRows.ids(of: id, in: app)).decoded(as: String.self)
            try await UserErasure.rewriteStarts(app, id, devices, pageSize: settings.stretchSize, in: database)
            // Unless the user has other devices by now.
        } while try await !eraseUser(app, id, with: devices, startsBehind: lastOldKey)
        // Otherwise a ticket that was just used would be good for some seconds more.
        registry.forgetCallers()
    }

    /// Erases the rest of a user whom, as the owner of these devices, no start up to this key names any more. Starts
    /// behind it may have been accepted meanwhile.
    ///
    /// - Returns: False if the user has another device, too. Then nothing is erased.
    private func eraseUser(
        _ app: BundleID,
        _ id: UserID,
        with known: [String],
        startsBehind lastOldKey: Int64
    ) async throws -> Bool {
        try await database.withYieldingTransaction { connection in
            _ = try await connection.query(RevocationRows.lock(id, in: app))
            try await store.holdApp(app, connection)
            let devices = try await connection.query(DeviceRows.ids(of: id, in: app)).decoded(as: String.self)
            guard Set(devices).isSubset(of: known) else { return false }
            let named = try await connection.query(AudienceRows.activities(naming: id, devices, in: app))
                .decoded(as: Int64.self)
            // Before the devices, as who deletes one of them does.
            _ = try await connection.query(TimelineErasure.exclusion(isForWriter: false))
            _ = try await connection.query(DeviceRows.hold(of: id, in: app))
            let held = Set(named)
            try await UserErasure.starts(of: held.sorted(), id, devices, on: connection)
            let forgotten = try await connection.query(AudienceRows.erasure(of: id, in: app)).decoded(as: Int64.self)
            // After the audiences. A start that is committed later keeps its audience, and so its body may name the user.
            // The audience of one that was committed before may be gone by now, so only its body tells of the user.
            let late = try await connection.query(
                ActivityRows.lateStarts(naming: id, devices, in: app, behind: lastOldKey)
            ).decoded(as: Int64.self)
            // Whoever holds one of these may wait for its audience. Then this transaction yields.
            let missed = Set(forgotten + late).subtracting(held)
            try await UserErasure.starts(of: missed.sorted(), id, devices, on: connection)
            _ = try await connection.execute(TopicRows.erasure(of: id, in: app))
            let deleted = try await TimelineErasure.delete(
                DeviceRows.deletion(of: id, in: app),
                of: app,
                on: connection
            )
            // Otherwise a signed ticket of the user, which may live for weeks, would bring the user back.
            _ = try await connection.execute(RevocationRows.erasure(of: id, in: app))
            let erased: JSONValue = ["devices": .number(JSONNumber(deleted))]
            try await AuditRows.record(
                .userErased,
                of: app,
                AuditRows.person(id.rawValue),
                before: erased,
                on: connection
            )
            return true
        }
    }
}
