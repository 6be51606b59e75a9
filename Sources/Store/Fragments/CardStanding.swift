import APITypes

/// SQL about what reaches a card: rows of `subscriptions`. A card may fulfil several of these conditions.
package enum CardStanding {
    /// The condition that the card rides its ring: each walk of the ring sends it the newest state.
    package static func rides(_ s: String) -> String { "(\(s).mode = 'token' AND \(s).state = 'riding')" }

    /// The condition that the card is owed a push of its own, beside its ring.
    package static func isServedApart(_ s: String) -> String { "(\(s).mode = 'token' AND \(s).state = 'due')" }

    /// The condition that the card listens to the channel: what is broadcast may reach it.
    package static func listens(_ s: String) -> String { "(\(s).mode = 'channel' AND \(s).state IN ('riding', 'due'))" }

    /// The condition that the card may have joined the channel after the newest broadcast, which is repeated for it.
    package static func isOwedBroadcast(_ s: String) -> String { "(\(s).mode = 'channel' AND \(s).state = 'due')" }

    /// The condition that the card has not begun, and that the policy sends it nothing before it begins.
    package static func waitsToBegin(_ s: String) -> String {
        "(\(s).state = 'withheld' AND \(s).reason = '\(WithheldReason.pending)')"
    }

    /// The condition that the card has a token to which states are sent, now or when nothing is in the way any more.
    package static func takesStates(_ s: String) -> String {
        "(\(s).mode = 'token' AND \(s).state IN ('riding', 'due', 'rejected', 'withheld'))"
    }
}
