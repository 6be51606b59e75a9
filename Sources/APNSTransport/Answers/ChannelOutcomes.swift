package import ActivityModel

/// What became of the wish for a new channel.
package enum ChannelCreationOutcome: Sendable, Hashable {
    /// There is a new channel of this id.
    case created(APNSChannelID)
    /// There is none that we know of. With class ``PushOutcome/Class/unknown`` one may exist all the same, to be found
    /// by listing.
    case failed(PushOutcome)
}

/// What became of the wish to delete a channel.
package enum ChannelDeletionOutcome: Sendable, Hashable {
    /// It is deleted.
    case deleted
    /// There was none of that id (any more).
    case alreadyGone
    /// It may still be there.
    case failed(PushOutcome)
}

/// What Apple tells about one channel.
package enum ChannelReadingOutcome: Sendable, Hashable {
    /// It exists and stores as told.
    case found(ChannelStorage)
    /// There is none of that id.
    case gone
    /// Nothing is known.
    case failed(PushOutcome)
}

/// The channels of an app, as Apple lists them.
package enum ChannelListOutcome: Sendable, Hashable {
    /// All ids, in Apple's order.
    case listed([APNSChannelID])
    /// Nothing is known.
    case failed(PushOutcome)
}
