@testable import TallyKit

/// A push on its way from Tally to a phone.
struct Push: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case start
        case update
        /// Whether the card leaves the screen with it.
        case end(atOnce: Bool)
        /// The phone does nothing with it.
        case ignored(why: String)
    }

    /// Where the simulator has delivered it.
    struct Landing: Hashable, Sendable {
        let phone: Int
        /// ``PhoneCard/number``; nil: none.
        let card: Int?
    }

    let kind: Kind
    /// The phone or card with it gets the push. Empty if the simulator has delivered it.
    let token: String
    let activity: String
    /// In its content; 0 if it has none.
    let revision: Int
    /// When it left, in seconds of the life.
    let sentAt: Double
    /// Seconds for which Apple keeps it for a phone that is offline.
    let keptFor: Double
    var landing: Landing?
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
    var apple: any LifeApple { get }

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
    /// When something is due though nothing comes in, in seconds of the life; nil: never.
    var nextWork: Double? { get }

    func knownPhone(_ device: String) async throws -> KnownPhone?
    func knownCard(_ activity: String, on device: String) async throws -> KnownCard
    /// The newest revision that a receipt named; 0 without one.
    func shownRevision(_ activity: String, on device: String) async throws -> Int
}

/// Apple as lives meet it. It is told what happens on phones, because that decides what becomes of pushes.
protocol LifeApple: AnyObject {
    /// There is another phone. They count from 0.
    func addPhone()
    /// iOS gives a start token in the place of another.
    func give(_ token: String, inPlaceOf old: String?, to phone: Int)
    /// iOS gives a card an update token. The card still has the one before.
    func give(_ token: String, to card: PhoneCard, on phone: Int)
    /// The app starts a card.
    ///
    /// - Returns: Its ``PhoneCard/number``.
    func addCard(on phone: Int) -> Int
    /// A scheduled card begins.
    ///
    /// - Returns: Its number from now on.
    func begin(_ card: PhoneCard, on phone: Int) -> Int
    /// A card takes no pushes any more.
    func end(_ card: PhoneCard, on phone: Int)
    func setOnline(_ isOnline: Bool, _ phone: Int)
    /// The user quits the app, or opens it after that.
    func setForceQuit(_ isForceQuit: Bool, _ phone: Int)
}
