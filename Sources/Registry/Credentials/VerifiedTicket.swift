import APITypes
import ActivityModel

/// A ticket that a backend signed, with a valid signature. Whether it is good now is checked with ``check(at:revokedBefore:)``.
struct VerifiedTicket: Sendable {
    let allowed: TicketGrant
    /// `iat`, in UNIX seconds of the backend's clock.
    let issuedAt: Timestamp
    /// `nbf`.
    let notBefore: Timestamp?

    /// Checks the times. `now` is the time of the database; `revokedBefore` is the later one of the ticket's user and
    /// device.
    ///
    /// - Throws: 401 with the reason.
    func check(at now: Timestamp, revokedBefore: Instant?) throws(Problem) {
        guard now < allowed.expiresAt else { throw .ticketRefused("it has expired") }
        let latest = now + SignedTicket.clockSkewSeconds
        guard issuedAt <= latest else { throw .ticketRefused("'iat' is in the future") }
        guard notBefore ?? issuedAt <= latest else { throw .ticketRefused("it is not valid before 'nbf'") }
        // No overflow: it is at most 90 days before `exp`, and a minute after now.
        if let revokedBefore, Instant(unixSeconds: issuedAt) < revokedBefore {
            throw .ticketRevoked
        }
    }
}

/// Why a ticket is refused: the end of a sentence. It quotes nothing from the ticket.
struct TicketRefusal: ExpressibleByStringInterpolation {
    let reason: String

    init(stringLiteral reason: String) {
        self.reason = reason
    }

    static let noJWT: TicketRefusal = "it is not a JWT of three parts"
    static let unknownKey: TicketRefusal = "no key has the id in 'kid'"
    static let revokedKey: TicketRefusal = "its key is revoked"
}

extension Problem {
    /// 401 with the reason.
    static func ticketRefused(_ refusal: TicketRefusal) -> Problem {
        .unauthorized("The ticket is not valid: \(refusal.reason).")
    }
}
