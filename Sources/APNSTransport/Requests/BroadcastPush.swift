package import ActivityModel

/// A push to one channel.
package struct BroadcastPush: Sendable {
    package var environment: APNSEnvironment
    package var identity: SigningIdentity
    package var bundleID: BundleID
    package var channelID: APNSChannelID
    /// The storage policy of the channel.
    package var storage: ChannelStorage
    package var priority: PushPriority
    /// UNIX seconds, always sent. It must be 0 on a channel that stores nothing.
    package var expiration: Int64
    /// The body, at most ``SizeLimit/broadcast``.
    package var body: [UInt8]
    /// The value of `apns-request-id`. If it is `nil`, Apple creates one. The answer always contains it.
    package var requestID: APNSRequestID?
    /// The time limit for the answer, from the call on.
    package var deadline: Duration

    /// Creates a push.
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

    /// The refusal to expect, found without asking Apple; `nil` if no rule is violated.
    package var refusal: PushOutcome? {
        RequestRules.head(.broadcast(self))
            ?? RequestRules.priority(priority, of: .liveActivity)
            ?? RequestRules.expiration(expiration, storage: storage)
            ?? RequestRules.body(body.count, .broadcast)
    }
}
