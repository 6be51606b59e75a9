package import ActivityModel
package import JSON

/// One Live Activity on one phone.
package struct PhoneCard: Sendable {
    /// The source of its updates.
    package enum Link: Sendable, Hashable {
        /// Started, but iOS has not given the app an update token yet.
        case awaitingToken
        case token(String)
        case channel(String)
    }

    /// The stage of the card's life. Times are milliseconds since 1970.
    package enum Phase: Sendable, Hashable {
        case active
        /// Ended at `since`; leaves the Lock Screen at `dismissedAt`.
        case ended(since: Int64, dismissedAt: Int64)
        /// The app ended it because of a newer card of the same activity.
        case replaced(since: Int64)
        /// The person swiped it away.
        case swipedAway(since: Int64)
    }

    /// Its index among the phone's cards, from 0.
    package let number: Int
    /// ActivityKit's id.
    package let activityKitID: String
    /// The caller's id of the activity, if the app can find it.
    package let activityID: ActivityID?
    package let typeName: ActivityTypeName
    package let startedByPush: Bool
    package let startedAt: ClockReading
    /// The size of the serialised attributes in bytes. It counts towards the phone's limit of 4096.
    package let attributesByteCount: Int
    package internal(set) var link = Link.awaitingToken
    /// When the current link began, in milliseconds since 1970.
    package internal(set) var linkedSince: Int64 = 0
    package internal(set) var phase = Phase.active
    package internal(set) var contentState: JSONValue?
    /// The newest `timestamp` shown, in UNIX seconds; nil until a push has brought one.
    package internal(set) var newestTimestamp: Int64?
    /// In UNIX seconds.
    package internal(set) var staleDate: Int64?
}

/// The state of a card as its user sees it.
package enum PhoneCardState: String, Sendable, Hashable {
    case active
    case stale
    /// Ended, but still on the Lock Screen.
    case ended
    /// Ended and gone from the screen.
    case dismissed
    /// Removed because of a newer card of the same activity.
    case replaced
}

extension PhoneCard {
    /// The state at a time. The system ends an activity at the end of its lifetime.
    package func state(at milliseconds: Int64, limits: PhoneLimits) -> PhoneCardState {
        switch phase {
        case .active:
            let end = startedAt.milliseconds + limits.lifetime
            if milliseconds >= end + limits.linger { return .dismissed }
            if milliseconds >= end { return .ended }
            return staleDate.map { milliseconds / 1000 >= $0 } ?? false ? .stale : .active
        case .ended(_, let dismissedAt):
            return milliseconds >= dismissedAt ? .dismissed : .ended
        case .replaced:
            return .replaced
        case .swipedAway:
            return .dismissed
        }
    }

    /// Whether pushes can still change the card.
    package func isLive(at milliseconds: Int64, limits: PhoneLimits) -> Bool {
        phase == .active && milliseconds < startedAt.milliseconds + limits.lifetime
    }
}
