/// The result of a push at a phone.
package enum PushVerdict: Sendable, Hashable {
    /// A card appeared.
    case started
    /// A card appeared beside another of the same activity, and the app then removed the older one.
    case secondCard
    /// The card shows the new content.
    case shown
    /// The card shows its last content and has ended.
    case ended
    /// The phone got an ordinary push (alert, background), which has no card.
    case delivered
    case ignored(IgnoreReason)
}

/// Why a phone ignored a push that Apple had accepted with 200. Reports print the raw value.
package enum IgnoreReason: String, Sendable, Hashable, CaseIterable {
    case malformed = "malformed payload"
    case wrongKind = "event does not go with the kind of token"
    case noAlert = "start without alert"
    case unknownType = "unknown attributes-type"
    case undecodableAttributes = "undecodable attributes"
    case undecodableContent = "undecodable content-state"
    case tooLarge = "attributes and content-state over 4096 bytes"
    case contradictoryInput = "both input-push keys"
    case needsNewerSystem = "needs a newer iOS"
    case unknownChannel = "start on an unknown channel"
    case forceQuit = "app was force-quit"
    case startBudget = "start budget exceeded"
    case highPriorityBudget = "budget of priority 10 exceeded"
    case tooManyActivities = "too many activities"
    case olderTimestamp = "older timestamp"
    case sameTimestamp = "same timestamp"
    case farFuture = "timestamp more than 8 hours ahead"
    case afterEnd = "after the end"
}
