package import ActivityModel

/// A push to one channel.
package struct BroadcastPush: Sendable {
    package var environment: APNSEnvironment
    package var identity: SigningIdentity
    package var bundleID: BundleID
    package var channelID: APNSChannelID
    package var priority: PushPriority
    /// UNIX seconds, always sent; must be 0 on a channel that stores nothing.
    package var expiration: Int64
    /// The body, at most ``PayloadLimit/broadcast`` bytes.
    package var body: [UInt8]
    /// When the answer is due at the latest, from the call on.
    package var deadline: Duration

    /// A push.
    package init(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID,
        priority: PushPriority,
        expiration: Int64,
        body: [UInt8],
        deadline: Duration = .seconds(10)
    ) {
        self.environment = environment
        self.identity = identity
        self.bundleID = bundleID
        self.channelID = channelID
        self.priority = priority
        self.expiration = expiration
        self.body = body
        self.deadline = deadline
    }

    /// Why it would be refused, found without asking Apple; nil if nothing is known against it.
    package var refusal: PushOutcome? {
        PayloadLimit.refusal(count: body.count, limit: PayloadLimit.broadcast)
    }
}
