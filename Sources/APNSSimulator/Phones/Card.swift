package import ActivityModel
package import JSON

/// One Live Activity on one phone.
package struct Card: Sendable {
    /// Where its updates come from.
    package enum Link: Sendable, Hashable {
        /// Started, but iOS has not given the app an update token yet.
        case awaitingToken
        case token(String)
        case channel(String)
    }

    /// How far the card has come; times are milliseconds since 1970.
    package enum Phase: Sendable, Hashable {
        case active
        /// Over at `since`, gone from the Lock Screen at `dismissedAt`.
        case ended(since: Int64, dismissedAt: Int64)
        /// The app ended it because a newer card of the same activity appeared.
        case replaced(since: Int64)
        /// The person swiped it away.
        case swipedAway(since: Int64)
    }

    /// Its place among the phone's cards, from 0.
    package let number: Int
    /// ActivityKit's id.
    package let activityKitID: String
    /// The caller's id of the activity, if the app can tell.
    package let activityID: ActivityID?
    package let typeName: ActivityTypeName
    package let startedByPush: Bool
    package let startedAt: Moment
    /// Serialised bytes of the attributes, which count against the 4096 that the phone holds.
    package let attributesByteCount: Int
    package internal(set) var link = Link.awaitingToken
    /// Milliseconds since 1970 at which the present link came to be.
    package internal(set) var linkedSince: Int64 = 0
    package internal(set) var phase = Phase.active
    package internal(set) var contentState: JSONValue?
    /// The newest `timestamp` shown, UNIX seconds; nil until a push brought one.
    package internal(set) var newestTimestamp: Int64?
    /// UNIX seconds.
    package internal(set) var staleDate: Int64?
}

/// What somebody looking at the phone would say of a card.
package enum CardState: String, Sendable, Hashable {
    case active
    case stale
    /// Over, and still on the Lock Screen.
    case ended
    /// Over and gone from the screen.
    case dismissed
    /// Taken away because a newer card of the same activity came.
    case replaced
}

extension Card {
    /// The state at a moment. The system ends an activity by itself when its lifetime is over.
    package func state(at milliseconds: Int64, limits: PhoneLimits) -> CardState {
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

    /// True while pushes can change the card.
    package func isLive(at milliseconds: Int64, limits: PhoneLimits) -> Bool {
        phase == .active && milliseconds < startedAt.milliseconds + limits.lifetime
    }
}
