/// Why nothing is sent to a card any more, as the row of a subscription that is `over` says it. A card that its app
/// reported as gone has none.
package enum OverReason: String, Sendable {
    /// Its 8 hours are over.
    case expired
    /// The device was installed anew in the other environment.
    case environmentChanged = "environment_changed"
    /// Apple has lost the channel that it listened to.
    case channelLost = "channel_lost"
    /// The channel that it listened to was deleted before the newest state was sent.
    case channelDeleted = "channel_deleted"
    /// Another device has reported the card's token since.
    case tokenMoved = "token_moved"
}
