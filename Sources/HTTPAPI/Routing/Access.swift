import APITypes

/// The permission that a route requires.
enum Access: Sendable, Hashable {
    /// None. The route ignores keys.
    case open
    /// A key with this scope. If the path has a bundle id, the key must have access to that app.
    case scope(Scope)
    /// A key with the scope `register`, or a ticket for the device in the path.
    case registration
    /// A ticket for the device in the path. A key is not enough.
    case ticket
    /// A key with one of these scopes and access to the app in the path. The body decides which scope is needed.
    case anyScope([Scope])
    /// An `admin` key that is bound to no app.
    case unboundAdmin

    /// The most bytes of a body, if less than the daemon's limit.
    var bodyLimit: Int? {
        switch self {
        // Every phone may send such a body, and as slowly as it likes.
        case .registration, .ticket: 16 << 10
        case .open, .scope, .anyScope, .unboundAdmin: nil
        }
    }
}
