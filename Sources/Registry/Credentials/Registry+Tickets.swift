package import APITypes
package import ActivityModel
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Makes a ticket with which an app may report one device and its cards.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment that it does not have.
    package func createTicket(
        _ app: BundleID,
        _ request: RegistrationTicketRequest
    ) async throws -> RegistrationTicketAnswer {
        let tickets = try await newTickets(app, [request])
        guard let ticket = tickets.first else { throw Problem.internalError() }
        let entry = AuditRows.entry(
            .ticketIssued,
            of: app,
            AuditRows.person(ticket.device.rawValue),
            after: Self.record(of: ticket)
        )
        guard let answer = try await issue(tickets, entry).first else { throw Problem.internalError() }
        return answer
    }

    /// Makes many tickets, in the order of the requests. The audit log gets one entry, which counts them.
    ///
    /// - Throws: As ``createTicket(_:_:)``; then none is made.
    package func createTickets(_ app: BundleID, _ request: TicketBatchRequest) async throws -> TicketBatchAnswer {
        let tickets = try await newTickets(app, request.tickets, at: "tickets")
        var fields = ObjectWriter()
        fields.add("tickets", tickets.count)
        fields.add("expires_at", tickets.map(\.expiresAt).max().map { Instant(unixSeconds: $0) })
        let entry = AuditRows.entry(.ticketIssued, of: app, app.rawValue, after: fields.json)
        return TicketBatchAnswer(tickets: try await issue(tickets, entry))
    }

    /// What the tickets grant. The requests stand in the field `list`. Without one, the only request is the whole body.
    private func newTickets(
        _ app: BundleID,
        _ requests: [RegistrationTicketRequest],
        at list: String? = nil
    ) async throws -> [TicketGrant] {
        var checked: Set<APNSEnvironment> = []
        for (index, request) in requests.enumerated() where checked.insert(request.environment).inserted {
            let place = list.map { [$0, String(index)] } ?? []
            _ = try await environment(request.environment, of: app, at: place + ["environment"])
        }
        let now = Instant(try await clock.now()).unixSeconds
        return requests.map { request in
            TicketGrant(
                app: app,
                environment: request.environment,
                device: request.deviceID,
                user: request.userID,
                activities: request.activities,
                topics: request.topics,
                expiresAt: now + request.ttlSeconds
            )
        }
    }

    private func issue(_ new: [TicketGrant], _ entry: [Query]) async throws -> [RegistrationTicketAnswer] {
        let answers = try new.map { ticket in
            RegistrationTicketAnswer(
                ticket: try tickets.seal(ticket),
                expiresAt: Instant(unixSeconds: ticket.expiresAt)
            )
        }
        // On record before the caller gets them: nothing else is kept of them.
        if !entry.isEmpty { _ = try await database.pipeline(entry) }
        return answers
    }

    /// The rights of a ticket, without the ids of people.
    private static func record(of ticket: TicketGrant) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", ticket.environment.rawValue)
        fields.add("user", ticket.user.map { AuditRows.person($0.rawValue) })
        fields.add("activities", words: ticket.activities.map { $0.map(\.rawValue).sorted() })
        fields.add("topics", words: ticket.topics.map { $0.map(\.rawValue).sorted() })
        fields.add("expires_at", Instant(unixSeconds: ticket.expiresAt))
        return fields.json
    }

    /// The bearer of this ticket; nil if it is not ours or has expired.
    func authenticate(ticket text: String) async throws -> Principal? {
        guard let ticket = try tickets.open(text), try await clock.now() < Instant(unixSeconds: ticket.expiresAt).stored
        else { return nil }
        return Principal(ticket: ticket)
    }
}
