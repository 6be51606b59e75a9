/// What a report says.
package enum News: Codable, Hashable, Sendable {
    case phone(PhoneFacts, session: Int)
    case topics([String])
    case card(CardNews)
    case receipts([Receipt])

    /// Whether it says that a card is gone.
    var isGone: Bool { if case .card(let card) = self { card.reach == .gone } else { false } }
}

/// How a card is reached, or that it is gone.
package struct CardNews: Codable, Hashable, Sendable {
    package enum Reach: Codable, Hashable, Sendable {
        case token(String)
        case channel(String)
        case gone
    }

    package let card: String
    package let reach: Reach
    /// The revision that the app started it with; nil if a push started it.
    package let revision: Int?
    /// True if it has not begun; nil if it has, or is gone.
    package let isPending: Bool?

    package init(card: String, reach: Reach, revision: Int? = nil, isPending: Bool? = nil) {
        self.card = card
        self.reach = reach
        self.revision = revision
        self.isPending = isPending
    }
}

/// Which revision a card shows.
package struct Receipt: Codable, Hashable, Sendable {
    /// ActivityKit's id.
    package let card: String
    package let activity: String
    package let revision: Int
    /// How long before the report the card began to show it, in milliseconds; nil if the app found it there.
    package let age: Int?

    package init(card: String, activity: String, revision: Int, age: Int?) {
        self.card = card
        self.activity = activity
        self.revision = revision
        self.age = age
    }
}
