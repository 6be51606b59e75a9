import ActivityModel

/// One row of the table: a condition in words and in code, the answer it brings, and who says so.
package struct Rule: Sendable {
    /// The condition, as a person would say it.
    package let condition: String
    package let status: Int
    package let reason: String
    package let citation: Citation
    /// What Apple's pages say instead, where the wire was seen to say something else.
    package let documented: Refusal?
    let isBroken: @Sendable (Inquiry) -> Bool

    init(
        _ condition: String,
        _ status: Int,
        _ reason: String,
        _ citation: Citation,
        documented: Refusal? = nil,
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

/// Everything that a rule may look at: the request, and what the world says of the things it names.
struct Inquiry {
    let request: APNSRequest
    let credential: Credential
    let connection: ConnectionMemory
    /// UNIX seconds.
    let now: Int64
    var token = TokenState.unknown
    var channel = ChannelState.neverExisted
    var channelCount = 0
    var channelLimit = 0
    var creation = ChannelCreation.unreadable
    var hasBroadcast = true

    var headers: RequestHeaders { request.headers }
    var endpoint: Endpoint { request.endpoint }

    var providerToken: ProviderToken? {
        guard case .token(let token) = credential else { return nil }
        return token
    }

    /// The bundle id that the request speaks for: the path's, or the topic without its suffix.
    var bundleID: String? {
        switch endpoint {
        case .device: headers.topic.map { Topic($0).bundleID }
        case .broadcast(let bundleID), .channels(let bundleID), .allChannels(let bundleID): bundleID
        case .unknown: nil
        }
    }
}

/// An `apns-topic`, split into the bundle id and the suffix that a push type adds.
struct Topic {
    static let liveActivity = ".push-type.liveactivity"
    /// Apple, Sending notification requests to APNs: the suffix that each push type asks for.
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
        // The commonest one first; no other suffix ends in another.
        if text.hasSuffix(Self.liveActivity) {
            suffix = Self.liveActivity
        } else {
            suffix = Self.suffixes.values.first { text.hasSuffix($0) } ?? ""
        }
        bundleID = String(text.dropLast(suffix.count))
    }
}
