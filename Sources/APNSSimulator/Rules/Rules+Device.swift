extension Rules {
    static let devicePath = [
        Rule("The path names no token", 400, "MissingDeviceToken", .responses) { $0.endpoint == .device(token: "") }
    ]

    /// Rules for a push to one token.
    static let device = topic + values + payload + token

    private static let topic = [
        Rule("There is no apns-topic", 400, "MissingTopic", .responses) { $0.headers.topic == nil },
        Rule("apns-topic names no bundle id", 400, "BadTopic", .responses) { ($0.bundleID ?? "").isEmpty },
        Rule("The key does not speak for the topic", 400, "TopicDisallowed", .responses) {
            guard let bundleIDs = $0.providerToken?.key?.bundleIDs, let bundleID = $0.bundleID else { return false }
            return !bundleIDs.contains(bundleID)
        },
        Rule("apns-push-type is not one of Apple's", 400, "InvalidPushType", .requests) {
            $0.headers.pushType.map { !TopicHeader.pushTypes.contains($0) } ?? false
        },
        Rule("apns-push-type does not go with the suffix of apns-topic", 400, "InvalidPushType", .requests) {
            guard let topic = $0.headers.topic.map(TopicHeader.init), !topic.suffix.isEmpty else { return false }
            return TopicHeader.suffixes[$0.headers.pushType ?? ""] != topic.suffix
        },
    ]

    private static let values = [
        Rule("apns-priority is not 1, 5 or 10", 400, "BadPriority", .requests) {
            $0.headers.priority.map { !["1", "5", "10"].contains($0) } ?? false
        },
        Rule("apns-priority of a Live Activity is not 5 or 10", 400, "BadPriority", .activityKit) {
            $0.headers.priority == "1" && $0.headers.pushType == "liveactivity"
        },
        Rule("apns-expiration is not UNIX seconds", 400, "BadExpirationDate", .requests) {
            $0.headers.expiration.map { !HeaderForms.isExpiration($0) } ?? false
        },
        Rule("apns-id is not a canonical UUID", 400, "BadMessageId", .requests) {
            $0.headers.messageID.map { !HeaderForms.isCanonicalUUID($0) } ?? false
        },
        Rule("apns-collapse-id is longer than 64 bytes", 400, "BadCollapseId", .requests) {
            ($0.headers.collapseID?.utf8.count ?? 0) > 64
        },
    ]

    private static let payload = [
        Rule("The payload is empty", 400, "PayloadEmpty", .responses) { $0.request.body.isEmpty },
        Rule("The payload is larger than 4096 bytes", 413, "PayloadTooLarge", .requests) {
            $0.request.body.count > ($0.headers.pushType == "voip" ? 5120 : 4096)
        },
    ]

    private static let token = [
        Rule("The token is no hex text or was not issued in this environment", 400, "BadDeviceToken", .responses) {
            $0.token == .unknown
        },
        Rule("The token belongs to another app", 400, "DeviceTokenNotForTopic", .responses) {
            switch $0.token {
            case .live(let bundleID, _), .dead(let bundleID, _, _, _): bundleID != $0.bundleID
            case .unknown: false
            }
        },
        // Apple staff, forum thread 712499: the answer for an activity's token with the bare bundle id as topic.
        Rule("The token is of another kind than the topic", 400, "DeviceTokenNotForTopic", .recorded) {
            let isActivityTopic = $0.headers.topic?.hasSuffix(TopicHeader.liveActivity) ?? false
            switch $0.token {
            case .live(_, let use), .dead(_, let use, _, _): return (use != .device) != isActivityTopic
            case .unknown: return false
            }
        },
        Rule("The token is no longer active for the topic", 410, "Unregistered", .responses) {
            guard case .dead(_, _, .unregistered, _) = $0.token else { return false }
            return true
        },
        Rule("The token outlived its activity", 410, "ExpiredToken", .responses) {
            guard case .dead(_, _, .expired, _) = $0.token else { return false }
            return true
        },
    ]
}
