/// What a listener learns.
package enum NotificationEvent: Sendable, Hashable {
    /// The listening has begun, for the first time or again after an interruption. What happened before may have been
    /// missed: look at the tables.
    case listening
    /// Somebody has notified a channel.
    case notification(channel: String, payload: String)
}
