import APITypes

/// What a route demands of its caller.
enum Access: Sendable, Hashable {
    /// Nothing; no key is looked at.
    case open
    /// A key with this scope. On a path with a bundle id the key must see that app.
    case scope(Scope)
    /// A key with the scope `register`, or a ticket for the device that the path names.
    case registration
    /// A key with one of these scopes, which sees the app of the path; which one is needed depends on the body.
    case anyScope([Scope])
    /// An `admin` key that is bound to no app.
    case unboundAdmin

    /// The most bytes of a body, where that is less than the daemon's limit.
    var bodyLimit: Int? {
        switch self {
        // Every phone may send one, and as slowly as it likes.
        case .registration: 16 << 10
        case .open, .scope, .anyScope, .unboundAdmin: nil
        }
    }
}
