package import ActivityModel

/// What Apple knows of a push token, seen from one environment.
package enum TokenState: Sendable, Hashable {
    /// What a token is for. The kinds are never interchangeable.
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

    /// Never issued, or issued in the other environment: Apple does not tell the two apart.
    case unknown
    case live(bundleID: String, use: Use)
    /// Since: milliseconds since 1970.
    case dead(bundleID: String, use: Use, Death, since: Int64)
}

/// What Apple knows of a channel id, seen from one environment and one app.
package enum ChannelState: Sendable, Hashable {
    /// Never issued.
    case neverExisted
    /// Deleted, or it belongs to another app or to the other environment.
    case notRegistered
    case registered(ChannelStorage)
}

/// What the rules ask of the world. Nothing here changes it.
package protocol RulesWorld {
    /// Reads and checks the text of an `authorization` header.
    func credential(_ authorization: String?) -> Credential
    /// The state of a token at a moment (milliseconds since 1970). The text is lower-case hex.
    func token(_ hex: String, environment: APNSEnvironment, at milliseconds: Int64) -> TokenState
    func channel(_ id: String, bundleID: String, environment: APNSEnvironment) -> ChannelState
    /// How many channels the app has in the environment.
    func channelCount(bundleID: String, environment: APNSEnvironment) -> Int
    /// How many it may have: Apple's 10,000 unless a test wants fewer.
    var channelLimit: Int { get }
    /// Whether the broadcast capability is on for the app.
    func hasBroadcast(bundleID: String) -> Bool
    /// True: answers are Apple's printed ones where the wire was seen to say something else.
    var answersAsDocumented: Bool { get }
}
