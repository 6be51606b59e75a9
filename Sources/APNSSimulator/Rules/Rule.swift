import ActivityModel

/// One rule: a condition in words and in code, the refusal that it causes, and its source.
package struct Rule: Sendable {
    package let condition: String
    package let status: Int
    package let reason: String
    package let citation: Citation
    /// The refusal on Apple's pages, if a recording shows another one.
    package let documented: APNSRefusal?
    let isBroken: @Sendable (Inquiry) -> Bool

    init(
        _ condition: String,
        _ status: Int,
        _ reason: String,
        _ citation: Citation,
        documented: APNSRefusal? = nil,
        isBroken: @escaping @Sendable (Inquiry) -> Bool
    ) {
        self.condition = condition
        self.status = status
        self.reason = reason
        self.citation = citation
        self.documented = documented
        self.isBroken = isBroken
    }
}

/// The inputs of a rule: the request, and the state of the things that it names.
struct Inquiry {
    let request: APNSRequest
    let credential: Credential
    let connection: ConnectionMemory
    /// In UNIX seconds.
    let now: Int64
    var token = KnownTokenState.unknown
    var channel = KnownChannelState.neverExisted
    var channelCount = 0
    var channelLimit = 0
    var creation = ChannelCreation.unreadable
    var hasBroadcast = true

    var headers: RequestHeaders { request.headers }
    var endpoint: APNSRoute { request.endpoint }

    var providerToken: ReceivedProviderToken? {
        guard case .token(let token) = credential else { return nil }
        return token
    }

    /// The bundle id of the request, from the path or from the topic without its suffix.
    var bundleID: String? {
        switch endpoint {
        case .device: headers.topic.map { TopicHeader($0).bundleID }
        case .broadcast(let bundleID), .channels(let bundleID), .allChannels(let bundleID): bundleID
        case .unknown: nil
        }
    }
}

/// An `apns-topic`, split into the bundle id and the suffix of the push type.
struct TopicHeader {
    static let liveActivity = ".push-type.liveactivity"
    /// Apple, Sending notification requests to APNs: the suffix of each push type.
    static let suffixes: [String: String] = [
        "liveactivity": liveActivity,
        "widgets": ".push-type.widgets",
        "controls": ".push-type.controls",
        "location": ".location-query",
        "voip": ".voip",
        "pushtotalk": ".voip-ptt",
        "complication": ".complication",
        "fileprovider": ".pushkit.fileprovider",
    ]
    static let pushTypes = Set(suffixes.keys).union(["alert", "background", "mdm"])

    let bundleID: String
    /// Empty for a bare bundle id.
    let suffix: String

    init(_ text: String) {
        // The most common suffix first. No suffix is the end of another.
        if text.hasSuffix(Self.liveActivity) {
            suffix = Self.liveActivity
        } else {
            suffix = Self.suffixes.values.first { text.hasSuffix($0) } ?? ""
        }
        bundleID = String(text.dropLast(suffix.count))
    }
}
