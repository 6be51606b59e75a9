public import Foundation

/// What Tally knows of this phone, for a debug view.
public struct TallyStatus: Hashable, Sendable {
    /// The id under which Tally knows this phone; nil before the first unlock after a restart.
    public let deviceID: String?
    /// When Tally confirmed a report of the phone last; nil if never.
    public let phoneConfirmed: Date?
    /// The types whose start tokens Tally knows.
    public let startTokens: [String]
    /// Whether the last change of user is known to Tally.
    public let userConfirmed: Bool
    /// The topics that Tally has confirmed for this phone.
    public let topics: [String]
    /// When Tally confirmed the cards last, by activity.
    public let cardsConfirmed: [String: Date]
    /// Activities whose card Tally does not know as it is now.
    public let cardsWaiting: [String]
    /// The revisions that Tally knows the cards to show, by activity: of those cards alone of which it wants to know.
    public let revisionsShown: [String: Int]

    package init(_ memory: Memory?) {
        deviceID = memory?.deviceID
        phoneConfirmed = memory?.confirmedPhone.map { Date(timeIntervalSince1970: $0.at) }
        if case .phone(let facts, let session) = memory?.confirmedPhone?.news {
            startTokens = facts.startTokens.keys.sorted()
            userConfirmed = session == memory?.session
        } else {
            startTokens = []
            userConfirmed = false
        }
        topics = if case .topics(let topics) = memory?.confirmedTopics?.news { topics } else { [] }
        cardsConfirmed = memory?.confirmedCards.mapValues { Date(timeIntervalSince1970: $0.at) } ?? [:]
        cardsWaiting = memory?.unconfirmedActivities ?? []
        let cards = memory.map { Array($0.cards.values) } ?? []
        let shown = cards.compactMap { card -> (String, Int)? in
            guard let shown = card.shown, shown.outcome == .taken else { return nil }
            return (card.activity, shown.revision)
        }
        revisionsShown = Dictionary(shown, uniquingKeysWith: max)
    }
}
