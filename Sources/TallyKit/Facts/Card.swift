/// One card of this phone, with what must outlive the process.
package struct Card: Codable, Hashable, Sendable {
    /// ActivityKit's id.
    package let id: String
    package let activity: String
    package let type: String
    /// Counts the cards of this installation. Of two cards of one activity, the one with the smaller number is the elder.
    package let number: Int
    /// When it was first seen; once it has begun, when it was first seen as such.
    package var firstSeen: Moment
    package var state: CardState
    package var updateToken: String?
    /// Set if the app started the card.
    package var start: AppStart?
    /// Why the app ended it; nil if it did not.
    package var endedByApp: AppEnd?
    /// Who ended it; nil while it is live.
    package var ending: CardEnding.Cause?
    /// Set if nobody saw how it went, until a reading shows that no repeat of its start has come.
    package var repeats: Pause?
    /// The number of the last report that it is live; nil if there was none. Tally knows the card with the highest.
    package var reported: Int?
    /// Whether Tally has confirmed how to reach it.
    package var isConfirmed = false
    /// Whether Tally has confirmed that it is gone; nil: it has not.
    package var isEndConfirmed: Bool?
    /// What it shows; nil if its content does not say it, or if Tally wants no receipts of it.
    package var shown: Shown?
    /// ActivityKit's id of the card that continues it, because iOS ends a card after eight hours.
    package var successor: String?

    /// Whether it is to be reported as live.
    var isLive: Bool { !state.isOver && endedByApp == nil && ending == nil }

    /// Whether the user has swiped it away, so that a push must not start this later card.
    ///
    /// If nobody saw how it went: no push could end a card that was never reported. And a push that comes soon after is the
    /// repeat of its own start, unless another card continues this one: such a repeat came long before. When a card came
    /// that the app finds after a long sleep, nobody can tell.
    var keepsOthersOut: Bool {
        if ending == .user { return true }
        guard ending == .unknown else { return false }
        return reported == nil || (repeats != nil && successor == nil)
    }

    /// It is there after all.
    mutating func revive() {
        endedByApp = nil
        ending = nil
        repeats = nil
        isEndConfirmed = nil
    }
}

/// What only the app knows of a card that it started.
package struct AppStart: Codable, Hashable, Sendable {
    /// Apple's id of the channel that the card listens to; nil if it has an update token.
    package var channel: String?
    /// The revision of the state that it was started with; 0 if unknown.
    package var revision: Int

    package init(channel: String? = nil, revision: Int) {
        self.channel = channel
        self.revision = revision
    }
}

/// Why the app ended a card.
package enum AppEnd: String, Codable, Hashable, Sendable {
    /// The app asked for it.
    case asked
    /// An elder card shows the same activity.
    case duplicate
    /// A new card continues it.
    case continued
    /// A push started it again, after the user had swiped it away.
    case unwanted
    /// It belonged to a user who has signed out.
    case signedOut
}
