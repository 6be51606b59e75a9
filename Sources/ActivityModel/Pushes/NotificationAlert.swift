package import JSON

/// The alert of an ordinary push. Live Activities use ``AlertContent`` instead.
///
/// Source: Apple, "Generating a remote notification", table 2; `action-loc-key` is from the older "Remote Notification
/// Payload".
package struct NotificationAlert: Sendable, Hashable {
    /// The first line.
    package var title: AlertText?
    /// The line below it.
    package var subtitle: AlertText?
    /// The message.
    package var body: AlertText?
    /// The image or storyboard that iOS shows while the app launches.
    package var launchImage: String?
    /// The localization key for the title of the alert's button.
    package var actionKey: String?

    /// Creates an alert from its parts. An alert without any text shows nothing.
    package init(
        title: AlertText? = nil,
        subtitle: AlertText? = nil,
        body: AlertText? = nil,
        launchImage: String? = nil,
        actionKey: String? = nil
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.launchImage = launchImage
        self.actionKey = actionKey
    }

    /// Apple's shape. An alert with only a message is a plain string: it is shorter, and the older page asks for it.
    package var wire: JSONValue {
        var object = JSONObject()
        Line.title.write(title, to: &object)
        Line.subtitle.write(subtitle, to: &object)
        Line.body.write(body, to: &object)
        object["launch-image"] = launchImage.map(JSONValue.string)
        object["action-loc-key"] = actionKey.map(JSONValue.string)
        if object.count == 1, let text = object["body"] {
            return text
        }
        return .object(object)
    }
}

extension NotificationAlert {
    /// The keys of one line. Unlike in a Live Activity's alert, the translated form has its own keys beside the plain
    /// one.
    package struct Line: Sendable {
        package static let title = Line(plain: "title", key: "title-loc-key", arguments: "title-loc-args")
        package static let subtitle = Line(plain: "subtitle", key: "subtitle-loc-key", arguments: "subtitle-loc-args")
        package static let body = Line(plain: "body", key: "loc-key", arguments: "loc-args")

        package let plain: String
        package let key: String
        package let arguments: String

        fileprivate func write(_ line: AlertText?, to object: inout JSONObject) {
            switch line {
            case nil:
                break
            case .plain(let text):
                object[plain] = .string(text)
            case .localized(let name, let values):
                object[key] = .string(name)
                object[arguments] = values.isEmpty ? nil : .array(values.map(JSONValue.string))
            }
        }
    }
}
