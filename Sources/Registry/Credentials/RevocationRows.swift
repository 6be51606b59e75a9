package import APITypes
package import ActivityModel
package import Postgres

/// The rows of `ticket_revocations`.
package enum RevocationRows {
    /// The statement that refuses the signed tickets that a user has by now. An app without ticket keys has none.
    ///
    /// The `iat` of such a ticket may lie ahead, so tickets of the next minute are refused, too.
    package static func erasure(of user: UserID, in app: BundleID) -> Query {
        """
        INSERT INTO ticket_revocations (bundle_id, subject_sha256, revoked_before)
        SELECT \(app.rawValue), \(UserOrDevice.user(user).sha256),
               clock_timestamp() + make_interval(secs => \(SignedTicket.clockSkewSeconds))
        WHERE EXISTS (SELECT FROM ticket_keys WHERE bundle_id = \(app.rawValue))
        \(unescaped: laterWins)
        """
    }

    /// The statement that keeps away reports by signed tickets of a user until the transaction ends. It comes before
    /// all other locks.
    package static func lock(_ user: UserID, in app: BundleID) -> Query {
        "SELECT pg_advisory_xact_lock(hashtextextended(\(name(user, app)), 0))"
    }

    /// The statement that keeps away the erasures of the users of signed tickets. Otherwise one of them could overlook
    /// a new device, whose row nobody can lock. It comes before all other locks.
    ///
    /// - Returns: No statement if no ticket is a signed one of a user.
    package static func locks(_ tickets: [TicketGrant?]) -> [Query] {
        let names = Set(
            tickets.compactMap { ticket in
                ticket.flatMap { ticket in ticket.issuedAt == nil ? nil : ticket.user.map { name($0, ticket.app) } }
            }
        )
        if names.isEmpty { return [] }
        return [
            """
            SELECT pg_advisory_xact_lock_shared(u.key)
            FROM (SELECT DISTINCT hashtextextended(n.name, 0) AS key FROM unnest(\(names.sorted())) AS n(name)
                  ORDER BY key) AS u
            """
        ]
    }

    private static func name(_ user: UserID, _ app: BundleID) -> String {
        "tally/user/\(app.rawValue)/\(user.rawValue)"
    }

    /// The end of a statement that inserts a revocation.
    static let laterWins = """
        ON CONFLICT (bundle_id, subject_sha256) DO UPDATE
        SET revoked_before = greatest(ticket_revocations.revoked_before, EXCLUDED.revoked_before)
        """

    /// The statement that finds the reports of a transaction whose signed tickets are revoked, for ``places(_:)``. A
    /// caller is believed for some seconds, so a ticket may have been revoked since it was checked.
    ///
    /// It must run after the statement that locks the devices. Then it sees the erasure that this one waited for.
    ///
    /// - Parameter tickets: The ticket of each report.
    /// - Returns: No statement if no report came with a signed ticket.
    package static func revoked(_ tickets: [TicketGrant?]) -> [Query] {
        var asked: [(place: Int, app: BundleID, subject: UserOrDevice, issuedAt: Timestamp)] = []
        for (place, ticket) in tickets.enumerated() {
            guard let ticket, let issuedAt = ticket.issuedAt else { continue }
            asked.append((place, ticket.app, .device(ticket.device), issuedAt))
            if let user = ticket.user { asked.append((place, ticket.app, .user(user), issuedAt)) }
        }
        if asked.isEmpty { return [] }
        return [
            """
            SELECT r.place
            FROM unnest(
                \(asked.map { Int64($0.place) }), \(asked.map(\.app.rawValue)), \(asked.map(\.subject.sha256)),
                \(asked.map(\.issuedAt))
            ) AS r(place, bundle_id, subject_sha256, issued_at)
            WHERE (SELECT t.revoked_before FROM ticket_revocations AS t
                   WHERE t.bundle_id = r.bundle_id AND t.subject_sha256 = r.subject_sha256) > to_timestamp(r.issued_at)
            """
        ]
    }

    /// The places of the reports in the rows of ``revoked(_:)``.
    package static func places(_ rows: Rows) throws -> Set<Int> {
        Set(try rows.decoded(as: Int64.self).map(Int.init))
    }
}

extension Problem {
    /// 401: the ticket was made before its user or its device was revoked.
    package static let ticketRevoked = ticketRefused("its user or its device is revoked")
}
