import ActivityModel

extension Rules {
    /// Rules for a push to one channel.
    static let broadcast =
        requestID + channelHeader + [
            Rule("There is no apns-push-type", 400, "MissingPushType", .errors) { $0.headers.pushType == nil },
            Rule("apns-push-type is not liveactivity", 400, "InvalidPushType", .errors) {
                $0.headers.pushType?.lowercased() != "liveactivity"
            },
            // Apple's own example lacks the header and would be refused.
            Rule("There is no apns-expiration", 400, "BadExpirationDate", .recorded) { $0.headers.expiration == nil },
            Rule("apns-expiration is not UNIX seconds", 400, "BadExpirationDate", .broadcast) {
                $0.headers.expiration.map { !HeaderForms.isExpiration($0) } ?? false
            },
            Rule("apns-priority is not 1, 5 or 10", 400, "BadPriority", .broadcast) {
                !["1", "5", "10"].contains($0.headers.priority ?? "")
            },
            Rule("The payload is empty", 400, "PayloadEmpty", .errors) { $0.request.body.isEmpty },
            Rule("The payload is larger than 5120 bytes", 413, "PayloadTooLarge", .broadcast) {
                $0.request.body.count > 5120
            },
        ] + channelExists + [
            Rule("apns-expiration is not 0 and the channel stores nothing", 400, "BadExpirationDate", .broadcast) {
                guard case .registered(.none) = $0.channel, let text = $0.headers.expiration else { return false }
                return Int64(text) != 0
            }
        ]

    /// Rules for creating, reading and deleting a channel.
    static let channels =
        requestID
        + creation.map { $0.only(for: "POST") }
        + channelHeader.map { $0.except(for: "POST") }
        + channelExists.map { $0.only(for: "GET") } + [
            Rule(
                "There is no such channel to delete",
                404,
                "BadPath",
                .recorded,
                documented: APNSRefusal(status: 400, reason: "ChannelNotRegistered")
            ) {
                guard case .registered = $0.channel else { return $0.request.method == "DELETE" }
                return false
            }
        ]

    private static let channelHeader = [
        Rule("There is no apns-channel-id", 400, "MissingChannelId", .errors) { $0.headers.channelID == nil },
        Rule("apns-channel-id is no base64 or too long", 400, "BadChannelId", .errors) {
            $0.headers.channelID.map { !HeaderForms.isChannelID($0) } ?? false
        },
    ]

    private static let channelExists = [
        Rule(
            "The channel was never issued",
            400,
            "BadChannelId",
            .recorded,
            documented: APNSRefusal(status: 400, reason: "ChannelNotRegistered")
        ) {
            $0.channel == .neverExisted
        },
        Rule("The channel is deleted or not this app's here", 400, "ChannelNotRegistered", .errors) {
            $0.channel == .notRegistered
        },
    ]

    private static let creation = [
        Rule("The body is no JSON object", 400, "BadRequestPayload", .errors) { $0.creation == .unreadable },
        Rule("The body has an attribute that Apple does not know", 400, "BadRequestParams", .errors) {
            guard case .read(_, _, true) = $0.creation else { return false }
            return true
        },
        Rule("message-storage-policy is not 0 or 1", 400, "BadRequestParams", .channels) {
            guard case .read(nil, _, _) = $0.creation else { return false }
            return true
        },
        Rule("There is no push-type", 400, "MissingPushType", .errors) {
            guard case .read(_, nil, _) = $0.creation else { return false }
            return true
        },
        Rule("push-type is not LiveActivity", 400, "InvalidPushType", .channels) {
            guard case .read(_, let pushType?, _) = $0.creation else { return false }
            return pushType != "LiveActivity"
        },
        Rule("The app has as many channels as it may have", 400, "CannotCreateChannelConfig", .channels) {
            $0.channelCount >= $0.channelLimit
        },
    ]
}

extension Rule {
    /// The same rule for one method only.
    fileprivate func only(for method: String) -> Rule {
        Rule(condition, status, reason, citation, documented: documented) {
            $0.request.method == method && isBroken($0)
        }
    }

    /// The same rule for all other methods.
    fileprivate func except(for method: String) -> Rule {
        Rule(condition, status, reason, citation, documented: documented) {
            $0.request.method != method && isBroken($0)
        }
    }
}
