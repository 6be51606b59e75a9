package import JSON

/// The body of an ordinary push. Live Activities use ``LiveActivityBody`` instead.
package struct PushPayload: Sendable, Hashable {
    /// The content of `aps`; `nil` for push types without that key.
    package let content: NotificationContent?
    /// The app's own data, beside `aps`.
    package let custom: JSONObject

    /// Creates a body for a push of that type and adds the members that the type always has. The type's rules are
    /// checked where a caller's push is read.
    package init(
        _ pushType: PushType,
        content: NotificationContent = NotificationContent(),
        custom: JSONObject = JSONObject()
    ) {
        self.custom = custom
        var content = content
        switch pushType {
        case .background: content.isContentAvailable = true
        case .widgets, .controls: content.isContentChanged = true
        case .liveActivity, .alert, .voip, .complication, .fileProvider, .mdm, .location, .pushToTalk: break
        }
        self.content = pushType.hasNotificationContent ? content : nil
    }

    /// The bytes that are sent.
    package var body: [UInt8] {
        var object = JSONObject()
        object["aps"] = content?.wire
        for (key, value) in custom.entries {
            object[key] = value
        }
        return JSONValue.object(object).serialized()
    }
}

extension PushType {
    /// Whether pushes of this type have an `aps`.
    var hasNotificationContent: Bool {
        switch self {
        case .mdm, .fileProvider: false
        case .liveActivity, .alert, .background, .voip, .complication, .location, .pushToTalk, .widgets, .controls: true
        }
    }
}
