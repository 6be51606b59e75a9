/// The states of a card, as ActivityKit names them.
public enum CardState: String, Codable, Hashable, Sendable {
    /// It starts later, at a time that the app chose (iOS 26).
    case pending
    /// It is shown and takes updates.
    case active
    /// It is shown and takes updates, and its content is out of date.
    case stale
    /// It may still be shown, and takes no more updates.
    case ended
    /// It is gone from the screen.
    case dismissed

    /// Whether the card takes no more updates.
    var isOver: Bool { self == .ended || self == .dismissed }
}
