package import ActivityModel
package import HTTP2Engine

/// The method, path and header fields of a request, without the provider token.
///
/// The fields follow Apple's pages "Sending notification requests to APNs", "Sending broadcast push notification
/// requests to APNs" and "Sending channel management requests to APNs". No `content-type` is sent, because Apple
/// requires none. Apple chooses the id of a channel request.
package struct RequestHead: Sendable, Hashable {
    package let kind: APNSRequestKind
    /// The app of the request.
    package let app: BundleID
    package let method: String
    /// The path. For device pushes, the token follows it.
    package let path: String
    package let fields: [HTTP2Header]

    /// Whether other pushes probably share this head: true for a push to a device without its own `apns-id`.
    var isForMany: Bool {
        kind == .devicePush && !fields.contains { $0.name == "apns-id" || $0.name == "apns-collapse-id" }
    }

    /// The header fields as text, for display.
    package var texts: [(name: String, value: String)] { fields.map { ($0.name, $0.value) } }

    /// `POST /3/device/<token>`.
    package static func devicePush(_ headers: PushHeaders) -> RequestHead {
        var fields = [
            HTTP2Header("apns-topic", headers.topic),
            HTTP2Header("apns-push-type", headers.pushType.rawValue),
            HTTP2Header("apns-priority", String(headers.priority.rawValue)),
        ]
        if let expiration = headers.expiration {
            fields.append(HTTP2Header("apns-expiration", String(expiration)))
        }
        if let collapseID = headers.collapseID {
            fields.append(HTTP2Header("apns-collapse-id", collapseID))
        }
        if let requestID = headers.requestID {
            fields.append(HTTP2Header("apns-id", requestID.rawValue))
        }
        return RequestHead(kind: .devicePush, app: headers.bundleID, method: "POST", path: "/3/device/", fields: fields)
    }

    /// `POST /4/broadcasts/apps/<bundle id>`, with the bundle id without suffix and without `apns-topic`.
    package static func broadcast(_ push: BroadcastPush) -> RequestHead {
        var fields = [
            HTTP2Header("apns-channel-id", push.channelID.rawValue),
            HTTP2Header("apns-push-type", PushType.liveActivity.rawValue),
            HTTP2Header("apns-expiration", String(push.expiration)),
            HTTP2Header("apns-priority", String(push.priority.rawValue)),
        ]
        // Apple's sample shows `apns-id` here, but the table on the same page has this field.
        if let requestID = push.requestID {
            fields.append(HTTP2Header("apns-request-id", requestID.rawValue))
        }
        return RequestHead(
            kind: .broadcastPush,
            app: push.bundleID,
            method: "POST",
            path: "/4/broadcasts/apps/\(push.bundleID.rawValue)",
            fields: fields
        )
    }

    /// `POST /1/apps/<bundle id>/channels`; the body is ``channelCreationBody(storage:)``.
    package static func channelCreation(bundleID: BundleID) -> RequestHead {
        channels(.channelCreation, "POST", bundleID, nil)
    }

    /// `GET /1/apps/<bundle id>/channels`.
    package static func channelReading(bundleID: BundleID, channelID: APNSChannelID) -> RequestHead {
        channels(.channelReading, "GET", bundleID, channelID)
    }

    /// `DELETE /1/apps/<bundle id>/channels`.
    package static func channelDeletion(bundleID: BundleID, channelID: APNSChannelID) -> RequestHead {
        channels(.channelDeletion, "DELETE", bundleID, channelID)
    }

    /// `GET /1/apps/<bundle id>/all-channels`.
    package static func channelList(bundleID: BundleID) -> RequestHead {
        RequestHead(
            kind: .channelList,
            app: bundleID,
            method: "GET",
            path: "/1/apps/\(bundleID.rawValue)/all-channels",
            fields: []
        )
    }

    /// The body that creates a channel. Only here the push type is spelled `LiveActivity`.
    package static func channelCreationBody(storage: ChannelStorage) -> [UInt8] {
        Array(#"{"message-storage-policy":\#(storage.policyNumber),"push-type":"LiveActivity"}"#.utf8)
    }

    private static func channels(
        _ kind: APNSRequestKind,
        _ method: String,
        _ app: BundleID,
        _ id: APNSChannelID?
    ) -> RequestHead {
        let path = "/1/apps/\(app.rawValue)/channels"
        let fields = id.map { [HTTP2Header("apns-channel-id", $0.rawValue)] } ?? []
        return RequestHead(kind: kind, app: app, method: method, path: path, fields: fields)
    }
}
