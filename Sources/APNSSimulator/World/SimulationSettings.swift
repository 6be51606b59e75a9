/// What can be set about the world before it begins.
package struct SimulationSettings: Sendable {
    /// Decides tokens, ids, delays and chances.
    package var seed: UInt64 = 1
    package var limits = PhoneLimits()
    /// Channels of one app in one environment. Apple: 10,000.
    package var channelLimit = 10_000
    /// Concurrent streams that a connection may have once a request on it has succeeded.
    package var streamLimit = 1000
    /// True: a provider token of a key that was not registered is refused. False: its signature is not checked.
    package var refusesUnknownKeys = false
    /// Bundle ids whose App ID has the broadcast capability switched off.
    package var withoutBroadcast: Set<String> = []
    /// True: the answers that Apple's pages print, where the wire was seen to say something else.
    package var answersAsDocumented = false
    /// What becomes of a connection that brings many errors.
    package var penalties = PenaltyLimits()
    /// True: who subscribes to a channel gets the message that it stores. Apple says that it is stored for a device and
    /// promises nothing of the kind to one that comes later.
    package var givesStoredToLateSubscribers = false

    package init() {}
}
