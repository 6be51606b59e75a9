package import ActivityModel

/// One complete request to a listener.
package struct APNSRequest: Sendable {
    package var environment: APNSEnvironment
    package var api: AppleAPI { didSet { endpoint = APNSRoute(path: path, at: api) } }
    package var method: String
    package var path: String { didSet { endpoint = APNSRoute(path: path, at: api) } }
    /// The resource that the path names at this listener.
    package private(set) var endpoint: APNSRoute
    package var headers: RequestHeaders
    package var body: [UInt8]

    package init(
        environment: APNSEnvironment,
        api: AppleAPI,
        method: String,
        path: String,
        headers: RequestHeaders,
        body: [UInt8]
    ) {
        self.environment = environment
        self.api = api
        self.method = method
        self.path = path
        self.endpoint = APNSRoute(path: path, at: api)
        self.headers = headers
        self.body = body
    }
}

/// A request that passed all rules, with what to do.
package enum Acceptance: Sendable, Hashable {
    /// The token is lower-case hex and live.
    case push(token: String)
    case broadcast(bundleID: String, channelID: String)
    case createChannel(bundleID: String, ChannelStorage)
    case readChannel(bundleID: String, channelID: String, ChannelStorage)
    case deleteChannel(bundleID: String, channelID: String)
    case listChannels(bundleID: String)
}

/// A refusal with Apple's status and reason.
package struct APNSRefusal: Sendable, Hashable {
    package var status: Int
    /// The `reason` in the JSON body.
    package var reason: String
    /// For a 410: when Apple knew the token to be dead, in milliseconds since 1970.
    package var timestamp: Int64?
}

/// The rules' decision on a request.
package enum Ruling: Sendable, Hashable {
    case accepted(Acceptance)
    case refused(APNSRefusal)
}
