@testable import TallyKit

/// A push on its way from Tally to a phone.
struct Push: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case start
        case update
        /// Whether the card leaves the screen with it.
        case end(atOnce: Bool)
    }

    let kind: Kind
    let token: String
    let activity: String
    /// In its content.
    let revision: Int
    /// Seconds for which Apple keeps it for a phone that is offline.
    let keptFor: Double
}

/// What Tally knows of a phone.
struct KnownPhone: Hashable, Sendable {
    var user: String?
    /// By type.
    var startTokens: [String: String]
}

/// What Tally knows of a card.
enum KnownCard: Hashable, Sendable {
    /// It is waited for, or gone.
    case none
    case token(String, isPending: Bool)

    var token: String? { if case .token(let token, _) = self { token } else { nil } }
    var isPending: Bool { if case .token(_, let isPending) = self { isPending } else { false } }
}

/// Tally as lives meet it: the real services, or a small model of them.
protocol LifeServer: AnyObject {
    /// The life's time, in seconds since its beginning.
    func setTime(_ seconds: Double) async throws

    /// Makes a ticket, as the app's backend does.
    func ticket(_ request: TicketRequest, user: String?) async throws -> Ticket

    /// Takes a report. `isNumbered`: with its generation and installation.
    func take(_ report: Report, isNumbered: Bool) async throws -> Answer

    /// The backend creates an activity; nil users: everybody's, an empty list: none, its cards are the apps' own.
    func begin(_ activity: String, users: [String]?) async throws
    /// The backend changes an activity.
    func change(_ activity: String) async throws
    /// The backend ends an activity.
    func end(_ activity: String, atOnce: Bool) async throws
    /// Does what is due.
    ///
    /// - Returns: The pushes that left.
    func work() async throws -> [Push]

    func knownPhone(_ device: String) async throws -> KnownPhone?
    func knownCard(_ activity: String, on device: String) async throws -> KnownCard
    /// The newest revision that a receipt named; 0 without one.
    func shownRevision(_ activity: String, on device: String) async throws -> Int
}
