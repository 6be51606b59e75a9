package import ActivityModel
package import HTTP2Engine

/// Method, path and header fields of a request, without the provider token.
///
/// Names, values and what is left out follow Apple's pages "Sending notification requests to APNs", "Sending broadcast
/// push notification requests to APNs" and "Sending channel management requests to APNs". No `content-type` is sent:
/// Apple asks for none. Channel requests leave their id to Apple.
package struct RequestHead: Sendable, Hashable {
    package let kind: APNSRequestKind
    /// The app that it is for.
    package let app: BundleID
    package let method: String
    /// The path; for device pushes the token follows.
    package let path: String
    package let fields: [HTTP2Header]

    /// Whether pushes for others may well have the same: one to a device without a name of its own.
    var isForMany: Bool {
        kind == .devicePush && !fields.contains { $0.name == "apns-id" || $0.name == "apns-collapse-id" }
    }

    /// The header fields as plain texts, to be shown.
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

    /// `POST /4/broadcasts/apps/<bundle id>`; the bundle id goes without suffix and there is no `apns-topic`.
    package static func broadcast(_ push: BroadcastPush) -> RequestHead {
        var fields = [
            HTTP2Header("apns-channel-id", push.channelID.rawValue),
            HTTP2Header("apns-push-type", PushType.liveActivity.rawValue),
            HTTP2Header("apns-expiration", String(push.expiration)),
            HTTP2Header("apns-priority", String(push.priority.rawValue)),
        ]
        // Not `apns-id`, which a sample of Apple's shows here: the table on the same page has this one.
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
        RequestHead(
            kind: .channelCreation,
            app: bundleID,
            method: "POST",
            path: channelsPath(bundleID),
            fields: []
        )
    }

    /// `GET /1/apps/<bundle id>/channels`.
    package static func channelReading(bundleID: BundleID, channelID: APNSChannelID) -> RequestHead {
        RequestHead(
            kind: .channelReading,
            app: bundleID,
            method: "GET",
            path: channelsPath(bundleID),
            fields: [HTTP2Header("apns-channel-id", channelID.rawValue)]
        )
    }

    /// `DELETE /1/apps/<bundle id>/channels`.
    package static func channelDeletion(bundleID: BundleID, channelID: APNSChannelID) -> RequestHead {
        RequestHead(
            kind: .channelDeletion,
            app: bundleID,
            method: "DELETE",
            path: channelsPath(bundleID),
            fields: [HTTP2Header("apns-channel-id", channelID.rawValue)]
        )
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

    /// The body that makes a channel; here, and only here, the push type is spelled `LiveActivity`.
    package static func channelCreationBody(storage: ChannelStorage) -> [UInt8] {
        Array(#"{"message-storage-policy":\#(storage.policyNumber),"push-type":"LiveActivity"}"#.utf8)
    }

    private static func channelsPath(_ bundleID: BundleID) -> String {
        "/1/apps/\(bundleID.rawValue)/channels"
    }
}
