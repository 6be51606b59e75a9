/// An event for a listener.
package enum NotificationEvent: Sendable, Hashable {
    /// Listening has begun, for the first time or after an interruption. Earlier notifications may be missing, so read
    /// the tables now.
    case listening
    /// A notification arrived on a channel.
    case notification(channel: String, payload: String)
}
