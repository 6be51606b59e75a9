package import ActivityModel

/// What follows from an event at a phone, for Apple or for the app's reports.
package enum PhoneEffect: Sendable, Hashable {
    /// Apple knows a new token from now on. `expiresAt`: milliseconds since 1970, nil for no end of its own.
    case issue(token: String, IssuedToken, expiresAt: Int64?)
    /// The token is dead from this moment on (milliseconds since 1970, which may lie ahead).
    case retire(token: String, since: Int64)
    case subscribe(channelID: String, card: Int)
    case unsubscribe(channelID: String, card: Int)
    /// Call ``Phone/tokenReady(card:at:)`` after this many milliseconds.
    case awaitToken(card: Int, milliseconds: Int64)
    case report(PhoneReport)
    /// The phone hears Apple again: what was stored for it arrives.
    case comeOnline
}

/// What a token was issued for.
package enum IssuedToken: Sendable, Hashable {
    case device
    case start(type: ActivityTypeName)
    case update(card: Int)
}

/// What the app tells Tally. A later report about the same thing makes an earlier one pointless.
package enum PhoneReport: Sendable, Hashable {
    case device(DeviceReport)
    case subscription(SubscriptionReport)
}

/// The app's report of its installation.
package struct DeviceReport: Sendable, Hashable {
    package var deviceToken: String?
    /// By attributes type.
    package var startTokens: [ActivityTypeName: String]
    /// Of the start tokens: grows with every change.
    package var generation: Int64
}

/// The app's report of one card.
package struct SubscriptionReport: Sendable, Hashable {
    /// What the card gets its updates from.
    package enum Link: Sendable, Hashable {
        case token(String)
        case channel(String)
        /// The card is gone.
        case ended
    }

    package var activityID: ActivityID
    package var link: Link
    package var activityKitID: String
    /// Grows with every report about the activity from this phone.
    package var generation: Int64
    /// The newest revision that the app knows by itself; nil: let Tally judge.
    package var knownRevision: Int64?
}
