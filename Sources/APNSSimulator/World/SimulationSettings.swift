/// Settings of the world, fixed at its creation.
package struct SimulationSettings: Sendable {
    /// Determines tokens, ids, delays and random choices.
    package var seed: UInt64 = 1
    package var limits = PhoneLimits()
    /// The most channels of one app in one environment. Apple: 10,000.
    package var channelLimit = 10_000
    /// Concurrent streams on a connection after its first successful request.
    package var streamLimit = 1000
    /// If true, a provider token of an unregistered key is refused. If false, its signature is not checked.
    package var refusesUnknownKeys = false
    /// Bundle ids whose App ID lacks the broadcast capability.
    package var withoutBroadcast: Set<String> = []
    /// Whether to answer as on Apple's pages, even if a recording shows something else.
    package var answersAsDocumented = false
    package var penalties = PenaltyLimits()
    /// Whether a new subscriber of a channel gets its stored message. Apple stores it for known devices and promises
    /// nothing to later subscribers.
    package var givesStoredToLateSubscribers = false

    package init() {}
}
