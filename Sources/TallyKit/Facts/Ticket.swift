public import Foundation

/// A registration ticket, as your backend got it from Tally.
public struct Ticket: Codable, Hashable, Sendable {
    /// The bearer's text.
    public var ticket: String
    /// When it expires.
    public var expiresAt: Date

    private enum CodingKeys: String, CodingKey {
        case ticket
        case expiresAt = "expires_at"
    }

    /// - Parameters:
    ///   - ticket: The member `ticket` of Tally's answer.
    ///   - expiresAt: The member `expires_at` of Tally's answer.
    public init(_ ticket: String, expiresAt: Date) {
        self.ticket = ticket
        self.expiresAt = expiresAt
    }
}

/// What a ticket must allow. Your backend asks Tally for it, and names the user who is signed in.
public struct TicketRequest: Codable, Hashable, Sendable {
    /// The id of this phone. It stays until the app is deleted.
    public let deviceID: String
    /// `sandbox` or `production`.
    public let environment: String
    /// The activities that the ticket must name. Nil: leave them out. The app chose them, so your backend checks that the
    /// user may see each.
    public let activities: [String]?
    /// True after a sign-out: the ticket must name no user.
    public let signedOut: Bool
    /// Topics that this phone follows or followed, which the ticket must allow: `topics` of the ticket. Nil: none. The app
    /// chose them, so your backend decides which of them anybody may follow. A ticket has at most 64, and `team:*` allows
    /// all that begin so.
    public let topics: [String]?
    /// Tells requests apart that look alike, such as those for two users.
    package var number = 0

    private enum CodingKeys: String, CodingKey {
        case environment, activities, topics
        case deviceID = "device_id"
        case signedOut = "signed_out"
    }
}

/// A ticket with what it is good for.
package struct HeldTicket: Codable, Hashable, Sendable {
    /// A ticket is no longer used in the last part of its life, lest it expire on its way.
    private static let margin: Double = 60
    /// Tally gives none for longer. A ticket that seems to live longer shows that the clock is wrong.
    private static let longest: Double = 24 * 3600 + 60
    /// The life of a ticket whose expiry cannot be judged, because the clock is wrong.
    private static let unjudged: Double = 300

    package let text: String
    /// It belongs to this sign-in.
    let session: Int
    /// Those that it names; nil: those that Tally knows for the device.
    let activities: [String]?
    /// Those that it was asked to allow.
    let topics: [String]?
    let since: Moment
    let until: Moment

    init(_ ticket: Ticket, for request: TicketRequest, session: Int, at now: Moment) {
        text = ticket.ticket
        self.session = session
        activities = request.activities
        topics = request.topics
        since = now
        let life = ticket.expiresAt.timeIntervalSince1970 - now
        until = now + (life > 0 && life <= Self.longest ? life - min(Self.margin, life / 10) : Self.unjudged)
    }

    /// A clock that was set back says nothing about the ticket.
    func isGood(at now: Moment) -> Bool { since <= now && now < until }
}
