/// Counts the accepted changes of one activity, from 1.
package typealias Revision = Int64

/// Whole seconds since 1970, by the database's clock.
package typealias Timestamp = Int64

/// Which of Apple's two worlds tokens, channels, keys and activities belong to; each belongs to exactly one.
package enum APNSEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox, production
}

/// What the caller says of a change; Tally chooses the APNs priority.
package enum Urgency: String, Sendable, Hashable, CaseIterable {
    case routine, notable, critical
}

/// How an activity reaches its phones.
package enum Delivery: String, Sendable, Hashable, CaseIterable {
    /// One update token per phone.
    case tokens
    /// One broadcast channel; needs iOS 18.
    case channel
    /// The channel where a phone can have it, a token where it cannot.
    case hybrid

    /// Whether the activity has a channel.
    package var usesChannel: Bool { self != .tokens }
}

/// Where an activity stands in its life; the only ways are scheduled → live → ended and scheduled → ended.
package enum ActivityState: String, Sendable, Hashable, CaseIterable {
    case scheduled, live, ended
}

/// What a change does, and what the push's `event` says.
package enum ChangeKind: String, Sendable, Hashable, CaseIterable {
    case start, update, end
}

/// The `apns-priority` of a push; which of them it may have follows from its ``PushType``.
package enum PushPriority: Int, Sendable, Hashable, CaseIterable {
    /// Power before all else: never wakes the device (Apple, "Sending notification requests to APNs").
    case one = 1
    /// Opportunistic; counts against no budget.
    case five = 5
    /// At once; counts against the phone's budget.
    case ten = 10
}

/// What a channel keeps for phones that are offline (APNs message storage policy).
package enum ChannelStorage: String, Sendable, Hashable, CaseIterable {
    /// Nothing; the policy with the larger publishing budget.
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

    /// How long after an activity's end its channel stays, unless the policy says otherwise: as long as a message may
    /// be stored, and else as long as pushes may be under way.
    package var defaultGraceSeconds: Int {
        switch self {
        case .none: 300
        case .mostRecent: 28800
        }
    }
}
