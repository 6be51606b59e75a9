package import APITypes
package import ActivityModel
import JSON
import Postgres
import Store

extension Orchestrator {
    /// Makes a ticket with which an app may report one device and its cards.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment that it does not have.
    package func createTicket(
        _ app: BundleID,
        _ request: RegistrationTicketRequest
    ) async throws -> RegistrationTicketAnswer {
        let environment = try await environment(request.environment, of: app)
        let now = Instant(try await clock.now()).unixSeconds
        let ticket = RegistrationTicket(
            app: app,
            environment: environment,
            device: request.deviceID,
            user: request.userID,
            activities: request.activities,
            expiresAt: now + request.ttlSeconds
        )
        let sealed = try tickets.seal(ticket)
        // On record before it is out: nothing else is kept of it.
        let entry = AuditRows.entry(
            .ticketIssued,
            of: app,
            AuditRows.person(request.deviceID.rawValue),
            after: Self.record(of: ticket)
        )
        if !entry.isEmpty { _ = try await database.pipeline(entry) }
        return RegistrationTicketAnswer(ticket: sealed, expiresAt: Instant(unixSeconds: ticket.expiresAt))
    }

    /// What a ticket allows, without the ids of people.
    private static func record(of ticket: RegistrationTicket) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", ticket.environment.rawValue)
        fields.add("user", ticket.user.map { AuditRows.person($0.rawValue) })
        fields.add("activities", words: ticket.activities.map { $0.map(\.rawValue).sorted() })
        fields.add("expires_at", Instant(unixSeconds: ticket.expiresAt))
        return fields.json
    }

    /// Who has this ticket; nil for one that is not ours or over.
    func authenticate(ticket text: String) async throws -> Principal? {
        guard let ticket = try tickets.open(text), try await clock.now() < Instant(unixSeconds: ticket.expiresAt).stored
        else { return nil }
        return Principal(ticket: ticket)
    }
}
