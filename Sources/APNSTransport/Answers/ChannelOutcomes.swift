package import ActivityModel

/// The result of a request for a new channel.
package enum ChannelCreationOutcome: Sendable, Hashable {
    /// The id of the new channel.
    case created(APNSChannelID)
    /// No channel is known. With class ``PushOutcome/Class/unknown`` one may still exist, and listing finds it.
    case failed(PushOutcome)
}

/// The result of a request to delete a channel.
package enum ChannelDeletionOutcome: Sendable, Hashable {
    /// The channel was deleted.
    case deleted
    /// No channel with that id exists (any more).
    case alreadyGone
    /// The channel may still exist.
    case failed(PushOutcome)
}

/// The result of a request for one channel.
package enum ChannelReadingOutcome: Sendable, Hashable {
    /// The channel exists; its storage policy.
    case found(ChannelStorage)
    /// No channel with that id exists.
    case gone
    /// The request failed, so nothing is known.
    case failed(PushOutcome)
}

/// The result of a request for all channels of an app.
package enum ChannelListOutcome: Sendable, Hashable {
    /// All ids, in Apple's order.
    case listed([APNSChannelID])
    /// The request failed, so nothing is known.
    case failed(PushOutcome)
}
