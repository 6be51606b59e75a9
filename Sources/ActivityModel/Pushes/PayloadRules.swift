internal import JSON

/// The rules for the body of each push type: required and forbidden members.
///
/// Sources at Apple:
/// - "Generating a remote notification"
/// - `background`: "Pushing background updates to your App" (nothing visible or audible)
/// - `widgets`: "Updating widgets with WidgetKit push notifications"
/// - `controls`: "Updating controls locally and remotely" (`content-changed` only)
/// - `fileprovider`: "Using push notifications to signal changes"
/// - `mdm`: the protocol reference of device management (`mdm` only)
enum PayloadRules {
    static let aps = JSONPointer(tokens: ["aps"])
    static let custom = JSONPointer(tokens: ["custom"])

    /// All violated rules.
    static func issues(
        _ type: PushType,
        _ content: NotificationContent,
        _ members: JSONObject
    ) -> [InvalidFields.Issue] {
        var issues: [InvalidFields.Issue] = []
        if members["aps"] != nil {
            issues.append(issue(custom.appending("aps"), .invalidValue, "The app's own data cannot be named 'aps'."))
        }
        switch type {
        case .alert:
            if content.alert == nil, content.sound == nil, content.badge == nil {
                let message = "A push of type 'alert' needs an 'alert', a 'sound' or a 'badge'."
                issues.append(issue(aps, .missing, message))
            }
        case .background, .widgets, .controls:
            issues += silent(type, content)
        case .mdm:
            issues += bare(type, content) + text("mdm", members)
            for key in members.keys where key != "mdm" {
                issues.append(issue(custom.appending(key), .unknownField, "A push of type 'mdm' has 'mdm' only."))
            }
        case .fileProvider:
            issues += bare(type, content) + text("container-identifier", members)
        case .liveActivity:
            let message = "A Live Activity is sent as a change of an activity."
            issues.append(issue(JSONPointer(tokens: ["push_type"]), .invalidValue, message))
        case .voip, .complication, .location, .pushToTalk:
            break
        }
        return issues
    }

    private static func silent(_ type: PushType, _ content: NotificationContent) -> [InvalidFields.Issue] {
        [("alert", content.alert != nil), ("sound", content.sound != nil), ("badge", content.badge != nil)]
            .filter(\.1)
            .map { key, _ in
                issue(aps.appending(key), .invalidValue, "A push of type '\(type.rawValue)' has no '\(key)'.")
            }
    }

    private static func bare(_ type: PushType, _ content: NotificationContent) -> [InvalidFields.Issue] {
        content == NotificationContent()
            ? [] : [issue(aps, .invalidValue, "A push of type '\(type.rawValue)' has no 'aps'.")]
    }

    private static func text(_ key: String, _ members: JSONObject) -> [InvalidFields.Issue] {
        guard let value = members[key] else {
            return [issue(custom.appending(key), .missing, "'\(key)' is required.")]
        }
        guard value.string?.isEmpty == false else {
            return [issue(custom.appending(key), .wrongType, "'\(key)' must be a text that is not empty.")]
        }
        return []
    }

    private static func issue(
        _ pointer: JSONPointer,
        _ code: InvalidFields.Issue.Code,
        _ message: String
    ) -> InvalidFields.Issue {
        InvalidFields.Issue(pointer: pointer, code: code, message: message)
    }
}
