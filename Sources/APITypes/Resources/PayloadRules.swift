import ActivityModel
import JSON

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
    private static let aps = JSONPointer(tokens: ["aps"])
    private static let custom = JSONPointer(tokens: ["custom"])

    /// All violated rules.
    static func errors(_ type: PushType, _ content: NotificationContent, _ members: JSONObject) -> [FieldError] {
        var errors: [FieldError] = []
        if members["aps"] != nil {
            let message = "The app's own data cannot be named 'aps'."
            errors.append(error(custom.appending("aps"), FieldError.invalidValue, message))
        }
        switch type {
        case .alert:
            if content.alert == nil, content.sound == nil, content.badge == nil {
                let message = "A push of type 'alert' needs an 'alert', a 'sound' or a 'badge'."
                errors.append(error(aps, FieldError.missing, message))
            }
        case .background, .widgets, .controls:
            errors += silent(type, content)
        case .mdm:
            errors += bare(type, content) + text("mdm", members)
            for key in members.keys where key != "mdm" {
                let message = "A push of type 'mdm' has 'mdm' only."
                errors.append(error(custom.appending(key), FieldError.unknownField, message))
            }
        case .fileProvider:
            errors += bare(type, content) + text("container-identifier", members)
        case .liveActivity:
            let message = "A Live Activity is sent as a change of an activity."
            errors.append(error(JSONPointer(tokens: ["push_type"]), FieldError.invalidValue, message))
        case .voip, .complication, .location, .pushToTalk:
            break
        }
        return errors
    }

    private static func silent(_ type: PushType, _ content: NotificationContent) -> [FieldError] {
        [("alert", content.alert != nil), ("sound", content.sound != nil), ("badge", content.badge != nil)]
            .filter(\.1)
            .map { key, _ in
                error(aps.appending(key), FieldError.invalidValue, "A push of type '\(type.rawValue)' has no '\(key)'.")
            }
    }

    private static func bare(_ type: PushType, _ content: NotificationContent) -> [FieldError] {
        content == NotificationContent()
            ? [] : [error(aps, FieldError.invalidValue, "A push of type '\(type.rawValue)' has no 'aps'.")]
    }

    private static func text(_ key: String, _ members: JSONObject) -> [FieldError] {
        guard let value = members[key] else {
            return [error(custom.appending(key), FieldError.missing, "'\(key)' is required.")]
        }
        guard value.string?.isEmpty == false else {
            return [error(custom.appending(key), FieldError.wrongType, "'\(key)' must be a text that is not empty.")]
        }
        return []
    }

    private static func error(_ pointer: JSONPointer, _ code: String, _ message: String) -> FieldError {
        FieldError(pointer: pointer, code: code, message: message)
    }
}
