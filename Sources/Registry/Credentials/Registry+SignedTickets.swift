package import APITypes
package import ActivityModel
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// The bearer of this ticket, which a backend signed. Believed as what was looked up in that generation.
    ///
    /// - Throws: 401 with the reason.
    func authenticate(signed text: String, _ hash: [UInt8], _ generation: Int) async throws -> Principal {
        let signed = try SignedTicket(text)
        let key = try await ticketKey(signed.keyID)
        let ticket = try signed.verified(by: key.key, of: key.app)
        try await check(ticket, keyID: signed.keyID)
        let principal = Principal(ticket: ticket.allowed)
        caches.principals.store(principal, for: hash, lookedUpIn: generation)
        return principal
    }

    /// - Throws: 401 for an id that no key has.
    private func ticketKey(_ id: String) async throws -> AppTicketKey {
        // An outdated key is as good, because a key with this id never changes.
        if let known = caches.ticketKeys.lookUp(id).value { return known }
        let generation = caches.ticketKeys.generation
        guard let uuid = ChannelID(id)?.rawValue, uuid == id else { throw Problem.ticketRefused(.unknownKey) }
        let rows = try await database.query(
            "SELECT bundle_id, algorithm, key_sealed FROM ticket_keys WHERE ticket_key_id = \(id)::uuid"
        )
        guard let (name, algorithm, sealed) = try rows.first(as: (String, String, [UInt8]).self) else {
            throw Problem.ticketRefused(.unknownKey)
        }
        let app = BundleID(stored: name)
        let bytes = try SecretSeal.ticketKey(app, id).open(sealed, under: masterKeys)
        let key = AppTicketKey(app: app, key: try TicketKey(try .stored(algorithm), bytes))
        caches.ticketKeys.store(key, for: id, lookedUpIn: generation)
        return key
    }

    /// Checks what only the database knows: its time, and what is revoked.
    private func check(_ ticket: VerifiedTicket, keyID: String) async throws {
        let allowed = ticket.allowed
        let rows = try await database.query(
            """
            SELECT floor(extract(epoch FROM clock_timestamp()))::int8,
                   EXISTS (SELECT FROM ticket_keys WHERE ticket_key_id = \(keyID)::uuid
                           AND (revoked_at IS NULL OR revoked_at > clock_timestamp())),
                   (SELECT max(revoked_before) FROM ticket_revocations WHERE bundle_id = \(allowed.app.rawValue)
                    AND subject_sha256 IN (\(UserOrDevice.device(allowed.device).sha256),
                                           \(allowed.user.map { UserOrDevice.user($0).sha256 })))
            """
        )
        guard let (now, isGood, revoked) = try rows.first(as: (Int64, Bool, PGTimestamp?).self) else {
            throw Problem.internalError()
        }
        guard isGood else { throw Problem.ticketRefused(.revokedKey) }
        try ticket.check(at: now, revokedBefore: revoked.map { Instant($0) })
    }

    /// Refuses the signed tickets of a user or a device that were made before a time. They are good for some seconds
    /// more on other daemons.
    ///
    /// - Throws: 404 for an unknown app; 422 for a time in the future.
    package func revokeTickets(
        _ app: BundleID,
        of subject: UserOrDevice,
        _ request: TicketRevocationRequest
    ) async throws -> TicketRevocation {
        let answer = try await database.withTransaction { connection in
            try await store.holdApp(app, connection)
            try await Self.checkIsOver(request.revokedBefore, on: connection)
            let rows = try await connection.query(
                """
                INSERT INTO ticket_revocations (bundle_id, subject_sha256, revoked_before)
                VALUES (\(app.rawValue), \(subject.sha256), \(request.revokedBefore.stored))
                \(unescaped: RevocationRows.laterWins)
                RETURNING revoked_before
                """
            )
            guard let time = try rows.single(PGTimestamp.self) else { throw Problem.internalError() }
            let answer = TicketRevocation(revokedBefore: Instant(time))
            let person = AuditRows.person(subject.id)
            try await AuditRows.record(.ticketsRevoked, of: app, person, after: answer.json, on: connection)
            return answer
        }
        forgetCallers()
        return answer
    }

    /// Looks up all callers anew, so that a revocation takes effect on this daemon at once.
    package func forgetCallers() { caches.principals.removeAll() }

    /// Otherwise tickets that are not made yet would be refused, and nothing could take that back.
    private static func checkIsOver(_ time: Instant, on connection: PostgresConnection) async throws {
        let latest = SignedTicket.clockSkewSeconds
        let rows = try await connection.query(
            "SELECT \(time.stored) <= clock_timestamp() + make_interval(secs => \(latest))"
        )
        guard try rows.single(Bool.self) == true else {
            let message = "'revoked_before' is in the future."
            throw Problem.invalidRequest(at: ["revoked_before"], code: FieldError.outOfRange, message)
        }
    }
}
