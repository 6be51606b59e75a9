package import ActivityModel

/// The state of a push token at Apple, seen from one environment.
package enum KnownTokenState: Sendable, Hashable {
    /// The purpose of a token. Tokens of different kinds are never interchangeable.
    package enum Use: String, Sendable, Hashable {
        case device
        case start
        case update
    }

    /// Why a token is dead.
    package enum Death: Sendable, Hashable {
        /// The app or the activity is gone, or the token was replaced.
        case unregistered
        /// The token outlived the 8 hours of its activity.
        case expired
    }

    /// Never issued, or issued in the other environment. Apple does not distinguish the two.
    case unknown
    case live(bundleID: String, use: Use)
    /// `since` is in milliseconds since 1970.
    case dead(bundleID: String, use: Use, Death, since: Int64)
}

/// The state of a channel id at Apple, seen from one environment and one app.
package enum KnownChannelState: Sendable, Hashable {
    /// Never issued.
    case neverExisted
    /// Deleted, or of another app or the other environment.
    case notRegistered
    case registered(ChannelStorage)
}

/// The state that the rules read. None of these changes anything.
package protocol RulesWorld {
    /// Parses and checks an `authorization` header.
    func credential(_ authorization: String?) -> Credential
    /// The state of a token at a time (milliseconds since 1970). `hex` is in lower case.
    func token(_ hex: String, environment: APNSEnvironment, at milliseconds: Int64) -> KnownTokenState
    func channel(_ id: String, bundleID: String, environment: APNSEnvironment) -> KnownChannelState
    /// The number of the app's channels in the environment.
    func channelCount(bundleID: String, environment: APNSEnvironment) -> Int
    /// The limit of that number: Apple's 10,000, unless a test sets a lower one.
    var channelLimit: Int { get }
    /// Whether the broadcast capability is on for the app.
    func hasBroadcast(bundleID: String) -> Bool
    /// Whether to answer as on Apple's pages, even if a recording shows something else.
    var answersAsDocumented: Bool { get }
}
