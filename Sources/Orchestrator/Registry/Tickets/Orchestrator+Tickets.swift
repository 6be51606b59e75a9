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
        let tickets = try await tickets(app, [request])
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
        let tickets = try await tickets(app, request.tickets)
        var fields = ObjectWriter()
        fields.add("tickets", tickets.count)
        fields.add("expires_at", tickets.map(\.expiresAt).max().map { Instant(unixSeconds: $0) })
        let entry = AuditRows.entry(.ticketIssued, of: app, app.rawValue, after: fields.json)
        return TicketBatchAnswer(tickets: try await issue(tickets, entry))
    }

    private func tickets(
        _ app: BundleID,
        _ requests: [RegistrationTicketRequest]
    ) async throws -> [RegistrationTicket] {
        for environment in Set(requests.map(\.environment)) { _ = try await self.environment(environment, of: app) }
        let rows = try await database.query("SELECT floor(extract(epoch FROM clock_timestamp()))::int8")
        guard let now = try rows.single(Int64.self) else { throw Problem.internalError() }
        return requests.map { request in
            RegistrationTicket(
                app: app,
                environment: request.environment,
                device: request.deviceID,
                user: request.userID,
                activities: request.activities,
                expiresAt: now + request.ttlSeconds
            )
        }
    }

    private func issue(_ tickets: [RegistrationTicket], _ entry: [Query]) async throws -> [RegistrationTicketAnswer] {
        let seal = TicketSeal(keys: masterKeys)
        let answers = try tickets.map { ticket in
            RegistrationTicketAnswer(
                ticket: try seal.seal(ticket),
                expiresAt: Instant(unixSeconds: ticket.expiresAt)
            )
        }
        // On record before they are out: nothing else is kept of them.
        if !entry.isEmpty { _ = try await database.pipeline(entry) }
        return answers
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

    /// Who has this ticket; nil for one that is not ours or over. Believed as what was looked up in that generation.
    func authenticate(ticket text: String, _ hash: [UInt8], _ generation: Int) async throws -> Principal? {
        guard let ticket = try TicketSeal(keys: masterKeys).open(text) else { return nil }
        let rows = try await database.query("SELECT clock_timestamp() < to_timestamp(\(ticket.expiresAt))")
        guard try rows.single(Bool.self) == true else { return nil }
        let principal = Principal(ticket: ticket)
        registry.principals.store(principal, for: hash, lookedUpIn: generation)
        return principal
    }

    /// Whether a ticket that names no activities is good for this one: its device or its user is in the audience, or
    /// the device has a card of it or was to be started. An activity that does not exist is like one that is for
    /// others.
    ///
    /// The audience is forgotten at the end; a phone that was offline until then may report its card all the same, if
    /// the start named it or its user.
    package func isMeant(_ ticket: RegistrationTicket, for activity: ActivityID) async throws -> Bool {
        let rows = try await database.query(
            """
            SELECT EXISTS (
                SELECT FROM activities AS a
                WHERE a.bundle_id = \(ticket.app.rawValue) AND a.activity_id = \(activity.rawValue) AND (
                    a.audience_all
                    OR EXISTS (SELECT FROM audience_members AS m
                               WHERE m.activity_key = a.activity_key AND m.kind = 'device'
                                 AND m.member_id = \(ticket.device.rawValue))
                    OR EXISTS (SELECT FROM audience_members AS m
                               WHERE m.activity_key = a.activity_key AND m.kind = 'user'
                                 AND m.member_id = \(ticket.user?.rawValue))
                    OR EXISTS (SELECT FROM devices AS d
                               WHERE d.bundle_id = a.bundle_id AND d.device_id = \(ticket.device.rawValue) AND (
                                 EXISTS (SELECT FROM subscriptions AS s
                                         WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key)
                                 OR EXISTS (SELECT FROM starts AS s
                                            WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key)))
                    OR CASE WHEN a.state = 'ended' THEN
                        coalesce((a.start_body #> '{audience,devices}')::jsonb ? \(ticket.device.rawValue), false)
                        OR coalesce((a.start_body #> '{audience,users}')::jsonb ? \(ticket.user?.rawValue), false)
                    END
                )
            )
            """
        )
        return try rows.single(Bool.self) ?? false
    }
}
