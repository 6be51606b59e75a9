/// Counts the accepted changes of one activity, from 1.
package typealias Revision = Int64

/// Whole seconds since 1970, by the database's clock.
package typealias Timestamp = Int64

/// Apple's two separate environments. Each token, channel, key and activity belongs to exactly one.
package enum APNSEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox, production
}

/// The caller's rating of a change; Tally chooses the APNs priority from it.
package enum Urgency: String, Sendable, Hashable, CaseIterable {
    case routine, notable, critical
}

/// How an activity reaches its phones.
package enum Delivery: String, Sendable, Hashable, CaseIterable {
    /// One update token per phone.
    case tokens
    /// One broadcast channel; needs iOS 18.
    case channel
    /// The channel for phones that support it, a token for the others.
    case hybrid

    /// Whether the activity has a channel.
    package var usesChannel: Bool { self != .tokens }
}

/// The lifecycle state of an activity. The only transitions are scheduled → live → ended and scheduled → ended.
package enum ActivityState: String, Sendable, Hashable, CaseIterable {
    case scheduled, live, ended
}

/// The kind of a change; also the `event` of its push.
package enum ChangeKind: String, Sendable, Hashable, CaseIterable {
    case start, update, end
}

/// The `apns-priority` of a push. Its ``PushType`` limits the allowed values.
package enum PushPriority: Int, Sendable, Hashable, CaseIterable {
    /// Saves power first: never wakes the device (Apple, "Sending notification requests to APNs").
    case one = 1
    /// Delivered when convenient; does not count against a budget.
    case five = 5
    /// Delivered at once; counts against the phone's budget.
    case ten = 10
}

/// The storage policy of a channel: the messages that APNs stores for offline phones (APNs message storage policy).
package enum ChannelStorage: String, Sendable, Hashable, CaseIterable {
    /// Nothing; this policy has the larger publishing budget.
    case none
    /// The most recent message, up to 8 h.
    case mostRecent = "most_recent"

    /// The `message-storage-policy` of the channel-management API.
    package var policyNumber: Int {
        switch self {
        case .none: 0
        case .mostRecent: 1
        }
    }

    /// The default time that a channel stays after the end of its activity. It is as long as APNs may store a message.
    /// Without storage it is as long as pushes may still be in flight.
    package var defaultGraceSeconds: Int {
        switch self {
        case .none: 300
        case .mostRecent: 28800
        }
    }
}

/// What happens to the card of somebody who no longer follows a topic of the audience.
package enum OnUnfollow: String, Sendable, Hashable, CaseIterable {
    /// The card stays, and gets updates until the end.
    case keep
    /// Tally ends the card on the phone.
    case end
}

/// Whether a card that its app has scheduled, and that has not begun, is sent updates.
package enum PendingUpdates: String, Sendable, Hashable, CaseIterable {
    /// It is sent nothing until its app reports it as begun; then the newest state. An end goes out at once.
    case wait
    /// It is sent updates as any card.
    case pass
}
