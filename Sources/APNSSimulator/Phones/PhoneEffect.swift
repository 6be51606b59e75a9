package import ActivityModel

/// An effect of an event at a phone, for Apple or for the app's reports.
package enum PhoneEffect: Sendable, Hashable {
    /// Apple knows a new token from now on. `expiresAt` is in milliseconds since 1970; nil: the token does not expire.
    case issue(token: String, IssuedToken, expiresAt: Int64?)
    /// The token is dead from this time on (milliseconds since 1970, possibly in the future).
    case retire(token: String, since: Int64)
    case subscribe(channelID: String, card: Int)
    case unsubscribe(channelID: String, card: Int)
    /// Call ``Phone/tokenReady(card:at:)`` after this many milliseconds.
    case awaitToken(card: Int, milliseconds: Int64)
    case report(PhoneReport)
    /// The phone is connected again, so its stored pushes arrive.
    case comeOnline
}

/// The purpose of a token.
package enum IssuedToken: Sendable, Hashable {
    case device
    case start(type: ActivityTypeName)
    case update(card: Int)
}

/// An app's report to Tally. A later report on the same subject replaces an earlier one.
package enum PhoneReport: Sendable, Hashable {
    case device(DeviceReport)
    case subscription(SubscriptionReport)
}

/// The app's report of its installation.
package struct DeviceReport: Sendable, Hashable {
    package var deviceToken: String?
    /// Keyed by attributes type.
    package var startTokens: [ActivityTypeName: String]
    /// The generation of the start tokens. It grows with every change.
    package var generation: Int64
}

/// The app's report of one card.
package struct SubscriptionReport: Sendable, Hashable {
    /// The source of the card's updates.
    package enum Link: Sendable, Hashable {
        case token(String)
        case channel(String)
        /// The card is gone.
        case ended
    }

    package var activityID: ActivityID
    package var link: Link
    package var activityKitID: String
    /// Grows with this phone's every report about the activity.
    package var generation: Int64
    /// The newest revision that the app knows; nil: Tally decides.
    package var knownRevision: Int64?
}
