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
        let rows = try await database.query("SELECT floor(extract(epoch FROM clock_timestamp()))::int8")
        guard let now = try rows.single(Int64.self) else { throw Problem.internalError() }
        let ticket = RegistrationTicket(
            app: app,
            environment: environment,
            device: request.deviceID,
            user: request.userID,
            activities: request.activities,
            expiresAt: now + request.ttlSeconds
        )
        let sealed = try TicketSeal(keys: masterKeys).seal(ticket)
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
                CROSS JOIN (
                    SELECT \(ticket.device.rawValue)::text AS device_id, \(ticket.user?.rawValue)::text AS user_id
                ) AS t
                WHERE a.bundle_id = \(ticket.app.rawValue) AND a.activity_id = \(activity.rawValue) AND (
                    a.audience_all
                    OR \(unescaped: AudienceCoverage.names("device", "t.device_id"))
                    OR \(unescaped: AudienceCoverage.names("user", "t.user_id"))
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
