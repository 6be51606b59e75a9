package import APITypes
package import ActivityModel
package import Registry

extension Intake {
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
    /// - Throws: 404 for an unknown app; 401 for a ticket that was revoked since it was checked.
    package func registerDevice(
        _ app: BundleID,
        _ id: DeviceID,
        _ request: DeviceRequest,
        by ticket: TicketGrant? = nil
    ) async throws -> StaleReport? {
        try await accept(
            ReportedDevice(app: app, id: id, request: request, ticket: ticket, wantsDevice: false)
        ).stale
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
        let requests = reports.map { ($0.name, RegistrationGroup.Request($0, registry, activities)) }
        return await groups.registrations.submit(requests) {
            _,
            backlog throws(Problem) in
            try limit.admit(.pressing, behind: backlog)
        }
    }
}
