package import JSON

/// The body of an ordinary push, valid for its push type. Live Activities use ``LiveActivityBody`` instead.
package struct PushPayload: Sendable, Hashable {
    /// The content of `aps`; `nil` for push types without that key.
    package let content: NotificationContent?
    /// The app's own data, beside `aps`.
    package let custom: JSONObject

    /// Creates a body for a push of that type and adds the members that the type always has.
    ///
    /// - Throws: All violated rules of the type. Pointers are those of ``init(_:aps:custom:)``.
    package init(
        _ pushType: PushType,
        content: NotificationContent = NotificationContent(),
        custom: JSONObject = JSONObject()
    ) throws(InvalidFields) {
        self.custom = custom
        var content = content
        switch pushType {
        case .background: content.isContentAvailable = true
        case .widgets, .controls: content.isContentChanged = true
        case .liveActivity, .alert, .voip, .complication, .fileProvider, .mdm, .location, .pushToTalk: break
        }
        self.content = pushType.hasNotificationContent ? content : nil
        let issues = PayloadRules.issues(pushType, content, custom)
        if let first = issues.first { throw InvalidFields(first, Array(issues.dropFirst())) }
    }

    /// Reads a body from the caller's two parts: `aps` in Apple's shape, and an object of the app's own data.
    ///
    /// - Throws: All wrong fields, with pointers below `/aps` and `/custom`.
    package init(_ pushType: PushType, aps: JSONValue?, custom: JSONValue?) throws(InvalidFields) {
        let content = try aps.map { value throws(InvalidFields) in
            try NotificationContent(json: value, at: PayloadRules.aps)
        }
        guard let members = custom.map(\.object) ?? JSONObject() else {
            throw InvalidFields(
                InvalidFields.Issue(
                    pointer: PayloadRules.custom,
                    code: .wrongType,
                    message: "An object is expected."
                )
            )
        }
        try self.init(pushType, content: content ?? NotificationContent(), custom: members)
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

extension PushPayload {
    /// Wakes the app without showing anything.
    package static func background(custom: JSONObject = JSONObject()) throws(InvalidFields) -> PushPayload {
        try PushPayload(.background, custom: custom)
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
