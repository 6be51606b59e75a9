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
    /// A device belongs to one environment. A report of the other one is a new installation of another build. The
    /// tokens of the old one are dropped, and its subscriptions and starts are over. Cards that the new one has
    /// reported before itself stay.
    ///
    /// - Throws: 404 for an unknown app.
    package func putDevice(_ app: BundleID, _ id: DeviceID, _ request: DeviceRequest) async throws -> DeviceResource {
        let report = ReportedDevice(app: app, id: id, request: request, wantsDevice: true)
        guard let device = try await accept(report).device else { throw Problem.notFound("the device") }
        return device
    }

    /// The same for the bearer of a ticket, who gets no facts about the device.
    ///
    /// - Returns: Nil if all of the report was taken, else why not.
    /// - Throws: 404 for an unknown app.
    package func registerDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest
    ) async throws -> StaleReport? {
        try await accept(ReportedDevice(app: app, id: id, request: request, wantsDevice: false)).stale
    }

    private func accept(_ report: ReportedDevice) async throws -> StoredReport {
        try (await accept([report]).first ?? .failure(Problem.internalError())).get()
    }

    /// Takes reports, each judged on its own; those of one device in their order. An audience is a standing rule: the
    /// device is enrolled before the report is answered, so that an app whose report was answered is enrolled.
    ///
    /// One that comes with an idempotency key again is answered with the device as it is now, 404 if that has been
    /// deleted since.
    func accept(_ reports: [ReportedDevice]) async -> [RegistrationGroup.Answer] {
        let limit = intakeLimit
        return await intake.registrations.submit(reports.map { ($0.name, RegistrationGroup.Request($0, self)) }) {
            _,
            backlog throws(Problem) in
            try limit.admit(.pressing, behind: backlog)
        }
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
