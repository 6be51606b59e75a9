package import ActivityModel

/// A push to one channel.
package struct BroadcastPush: Sendable {
    package var environment: APNSEnvironment
    package var identity: SigningIdentity
    package var bundleID: BundleID
    package var channelID: APNSChannelID
    /// What the channel stores.
    package var storage: ChannelStorage
    package var priority: PushPriority
    /// UNIX seconds, always sent; must be 0 on a channel that stores nothing.
    package var expiration: Int64
    /// The body, at most ``SizeLimit/broadcast``.
    package var body: [UInt8]
    /// The value of `apns-request-id`; Apple makes one where it is nil, and answers with it either way.
    package var requestID: APNSRequestID?
    /// When the answer is due at the latest, from the call on.
    package var deadline: Duration

    /// A push.
    package init(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID,
        storage: ChannelStorage,
        priority: PushPriority,
        expiration: Int64,
        body: [UInt8],
        requestID: APNSRequestID? = nil,
        deadline: Duration = .seconds(10)
    ) {
        self.environment = environment
        self.identity = identity
        self.bundleID = bundleID
        self.channelID = channelID
        self.storage = storage
        self.priority = priority
        self.expiration = expiration
        self.body = body
        self.requestID = requestID
        self.deadline = deadline
    }

    /// Why it would be refused, found without asking Apple; nil if nothing is known against it.
    package var refusal: PushOutcome? {
        RequestRules.head(.broadcast(self))
            ?? RequestRules.priority(priority, of: .liveActivity)
            ?? RequestRules.expiration(expiration, storage: storage)
            ?? RequestRules.body(body.count, .broadcast)
    }
}
