/// A card that takes no more updates, and who ended it.
public struct CardEnding: Hashable, Sendable {
    /// Who ended the card.
    public enum Cause: String, Codable, Hashable, Sendable {
        /// The user swiped it away.
        case user
        /// A push ended it, or iOS did because it was too old.
        case system
        /// The app ended it.
        case app
        /// It went while the app did not look.
        case unknown
    }

    /// The id of the activity.
    public let activity: String
    /// ActivityKit's id of the card.
    public let card: String
    /// Who ended it.
    public let cause: Cause
}
