import ActivityModel

@testable import APNSSimulator

extension RuleCase {
    static let all: [RuleCase] =
        paths + credentials + connections + device + bundles + broadcast + channels

    static let paths: [RuleCase] = [
        RuleCase("an unknown path", .device.path("/4/device/ab"), 404, "BadPath"),
        RuleCase("a path without a slash", .device.path("3/device/ab"), 404, "BadPath"),
        RuleCase("a device push at the broadcast host", .device.at(.broadcast), 404, "BadPath"),
        RuleCase("a broadcast at the management host", .broadcast.at(.channels), 404, "BadPath"),
        RuleCase("a channel id in the path", .read.path("/1/apps/com.example.game/channels/abcd"), 404, "BadPath"),
        RuleCase("no token", .device.path("/3/device/"), 400, "MissingDeviceToken"),
        RuleCase("no token and no slash", .device.path("/3/device"), 400, "MissingDeviceToken"),
        RuleCase("a push by GET", .device.method("GET"), 405, "MethodNotAllowed"),
        RuleCase("a broadcast by PUT", .broadcast.method("PUT"), 405, "MethodNotAllowed"),
        RuleCase("a channel by PUT", .read.method("PUT"), 405, "MethodNotAllowed"),
        RuleCase("a list by POST", .list.method("POST"), 405, "MethodNotAllowed"),
    ]

    static let credentials: [RuleCase] = [APNSRequest.device, .broadcast, .create, .list].flatMap { request in
        [
            RuleCase("no authorization", request.with { $0.authorization = nil }, 403, "MissingProviderToken"),
            RuleCase("no JWT", request.with { $0.authorization = "malformed" }, 403, "InvalidProviderToken"),
            RuleCase(
                "another team's key",
                request.with { $0.authorization = "other team" },
                403,
                "InvalidProviderToken"
            ),
            RuleCase("a false signature", request.with { $0.authorization = "forged" }, 403, "InvalidProviderToken"),
            RuleCase("an old token", request.with { $0.authorization = "3601 s old" }, 403, "ExpiredProviderToken"),
            RuleCase(
                "a token from the future",
                request.with { $0.authorization = "3601 s ahead" },
                403,
                "ExpiredProviderToken"
            ),
            RuleCase(
                "the other environment's key",
                request.with { $0.authorization = "production key" },
                403,
                "BadEnvironmentKeyInToken"
            ),
            RuleCase(
                "a header twice",
                request.with { $0.add(name: "authorization", value: "valid") },
                400,
                "DuplicateHeaders"
            ),
        ]
    }

    static let connections: [RuleCase] =
        [APNSRequest.device, .broadcast, .create, .list].map { request in
            RuleCase(
                "another team on the connection",
                request,
                403,
                "InvalidProviderToken",
                memory: .init(key: StubWorld.keyID, team: "OTHERTEAM0", "valid", 0)
            )
        } + [
            RuleCase(
                "another key on the connection",
                .device,
                403,
                "UnrelatedKeyIdInToken",
                memory: .init(key: "OTHERKEY00", "valid", 0)
            ),
            RuleCase(
                "a new token after 19 minutes",
                .device,
                429,
                "TooManyProviderTokenUpdates",
                memory: .init(key: StubWorld.keyID, "older", StubWorld.now - 1199)
            ),
        ]

    static let device: [RuleCase] = [
        RuleCase("no topic", .device.with { $0.topic = nil }, 400, "MissingTopic"),
        RuleCase("an empty topic", .device.with { $0.topic = "" }, 400, "BadTopic"),
        RuleCase("a suffix alone", .device.with { $0.topic = ".push-type.liveactivity" }, 400, "BadTopic"),
        RuleCase("a key of other topics", .device.with { $0.authorization = "topic key" }, 400, "TopicDisallowed"),
        RuleCase("an unknown push type", .device.with { $0.pushType = "LiveActivity" }, 400, "InvalidPushType"),
        RuleCase("a push type against the topic", .device.with { $0.pushType = "alert" }, 400, "InvalidPushType"),
        RuleCase("no push type for the topic", .device.with { $0.pushType = nil }, 400, "InvalidPushType"),
        RuleCase("priority 7", .device.with { $0.priority = "7" }, 400, "BadPriority"),
        RuleCase("priority 1", .device.with { $0.priority = "1" }, 400, "BadPriority"),
        RuleCase("an expiration in words", .device.with { $0.expiration = "soon" }, 400, "BadExpirationDate"),
        RuleCase("a negative expiration", .device.with { $0.expiration = "-1" }, 400, "BadExpirationDate"),
        RuleCase(
            "an id in upper case",
            .device.with { $0.messageID = "5F0C6B9E-2B8C-4E58-9E4F-0B6E0B6A5C11" },
            400,
            "BadMessageId"
        ),
        RuleCase(
            "a collapse id of 65 bytes",
            .device.with { $0.collapseID = String(repeating: "é", count: 32) + "x" },
            400,
            "BadCollapseId"
        ),
        RuleCase("no payload", .device.body(0), 400, "PayloadEmpty"),
        RuleCase("a payload of 4097 bytes", .device.body(4097), 413, "PayloadTooLarge"),
        RuleCase("an odd number of digits", .device.path("/3/device/abc"), 400, "BadDeviceToken"),
        RuleCase("a token that is no hex", .device.path("/3/device/wxyz"), 400, "BadDeviceToken"),
        RuleCase("a token of the other environment", .device.production, 400, "BadDeviceToken"),
        RuleCase(
            "a token of another app",
            .device.with { $0.topic = "com.example.other.push-type.liveactivity" },
            400,
            "DeviceTokenNotForTopic"
        ),
        RuleCase(
            "an activity's token with the bare bundle id",
            .device.with { $0.topic = StubWorld.bundleID },
            400,
            "DeviceTokenNotForTopic"
        ),
        RuleCase(
            "a device token with the activity topic",
            .device.path("/3/device/de01"),
            400,
            "DeviceTokenNotForTopic"
        ),
        RuleCase("a dead token", .device.path("/3/device/dead"), 410, "Unregistered"),
        RuleCase("a token that outlived its activity", .device.path("/3/device/01d0"), 410, "ExpiredToken"),
    ]

    /// What holds for each API whose path names a bundle id.
    static let bundles: [RuleCase] = [APNSRequest.broadcast, .create, .list].flatMap { request in
        func path(_ bundleID: String) -> APNSRequest {
            request.path(request.path.replacing(StubWorld.bundleID, with: bundleID))
        }
        return [
            RuleCase("a suffix in the path", path("com.example.game.push-type.liveactivity"), 400, "TopicDisallowed"),
            RuleCase("an app without broadcasts", path("com.example.silent"), 400, "BroadcastFeatureNotEnabled"),
            RuleCase("a key of other apps", request.with { $0.authorization = "topic key" }, 403, "TopicMismatch"),
            RuleCase("a request id that is no UUID", request.with { $0.requestID = "1" }, 400, "BadMessageId"),
            RuleCase(
                "a new token after 19 minutes",
                request,
                429,
                "TooManyProviderTokenUpdates",
                memory: .init(key: StubWorld.keyID, "older", StubWorld.now - 1199)
            ),
        ]
    }

    static let broadcast: [RuleCase] = [
        RuleCase("an expiration in words", .broadcast.with { $0.expiration = "soon" }, 400, "BadExpirationDate"),
        RuleCase("no channel", .broadcast.with { $0.channelID = nil }, 400, "MissingChannelId"),
        RuleCase(
            "a channel id that is no base64",
            .broadcast.with { $0.channelID = "not base64" },
            400,
            "BadChannelId"
        ),
        RuleCase(
            "a channel id of 260 characters",
            .broadcast.with { $0.channelID = String(repeating: "A", count: 260) },
            400,
            "BadChannelId"
        ),
        RuleCase("a channel that never was", .broadcast.with { $0.channelID = "AAAA" }, 400, "BadChannelId"),
        RuleCase(
            "a deleted channel",
            .broadcast.with { $0.channelID = StubWorld.deleted },
            400,
            "ChannelNotRegistered"
        ),
        RuleCase("no push type", .broadcast.with { $0.pushType = nil }, 400, "MissingPushType"),
        RuleCase("push type alert", .broadcast.with { $0.pushType = "alert" }, 400, "InvalidPushType"),
        RuleCase("no expiration", .broadcast.with { $0.expiration = nil }, 400, "BadExpirationDate"),
        RuleCase(
            "an expiration where nothing is stored",
            .broadcast.with { $0.channelID = StubWorld.storingNothing },
            400,
            "BadExpirationDate"
        ),
        RuleCase("no priority", .broadcast.with { $0.priority = nil }, 400, "BadPriority"),
        RuleCase("no payload", .broadcast.body(0), 400, "PayloadEmpty"),
        RuleCase("a payload of 5121 bytes", .broadcast.body(5121), 413, "PayloadTooLarge"),
    ]

    static let channels: [RuleCase] = [
        RuleCase("read of a channel id that is no base64", .read.with { $0.channelID = "?" }, 400, "BadChannelId"),
        RuleCase("read of a channel that never was", .read.with { $0.channelID = "AAAA" }, 400, "BadChannelId"),
        RuleCase("a body that is no JSON", .create.text("{"), 400, "BadRequestPayload"),
        RuleCase("a body that is no object", .create.text("[]"), 400, "BadRequestPayload"),
        RuleCase("no body", .create.text(""), 400, "BadRequestPayload"),
        RuleCase(
            "an attribute more",
            .create.text(#"{"message-storage-policy":1,"push-type":"LiveActivity","x":1}"#),
            400,
            "BadRequestParams"
        ),
        RuleCase(
            "a policy in quotes",
            .create.text(#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#),
            400,
            "BadRequestParams"
        ),
        RuleCase(
            "policy 2",
            .create.text(#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#),
            400,
            "BadRequestParams"
        ),
        RuleCase("no push type", .create.text(#"{"message-storage-policy":1}"#), 400, "MissingPushType"),
        RuleCase(
            "push type in lower case",
            .create.text(#"{"message-storage-policy":1,"push-type":"liveactivity"}"#),
            400,
            "InvalidPushType"
        ),
        RuleCase(
            "one channel too many",
            .create.path("/1/apps/com.example.full/channels"),
            400,
            "CannotCreateChannelConfig"
        ),
        RuleCase("read without a channel", .read.with { $0.channelID = nil }, 400, "MissingChannelId"),
        RuleCase(
            "read of a deleted channel",
            .read.with { $0.channelID = StubWorld.deleted },
            400,
            "ChannelNotRegistered"
        ),
        RuleCase("delete without a channel", .delete.with { $0.channelID = nil }, 400, "MissingChannelId"),
        RuleCase("delete of a deleted channel", .delete.with { $0.channelID = StubWorld.deleted }, 404, "BadPath"),
        RuleCase("delete of a channel that never was", .delete.with { $0.channelID = "AAAA" }, 404, "BadPath"),
    ]
}
