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

    /// Reads Apple's shape: a string (the message), or an object with at least one text.
    package init(json: JSONValue, at place: JSONPointer = JSONPointer()) throws(InvalidFields) {
        if let text = json.string {
            self.init(body: .plain(text))
            return
        }
        var reader = FieldReader(json, at: place)
        self.init(
            title: Line.title.read(from: &reader),
            subtitle: Line.subtitle.read(from: &reader),
            body: Line.body.read(from: &reader),
            launchImage: reader.text("launch-image"),
            actionKey: reader.text("action-loc-key")
        )
        try reader.finish()
        guard title != nil || subtitle != nil || body != nil else {
            let message = "An alert needs a text: 'title', 'subtitle' or 'body', or one of their '…loc-key'."
            throw InvalidFields(InvalidFields.Issue(pointer: place, code: .missing, message: message))
        }
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

/// The keys of one line. Unlike in a Live Activity's alert, the translated form has its own keys beside the plain one.
private struct Line {
    static let title = Line(plain: "title", key: "title-loc-key", arguments: "title-loc-args")
    static let subtitle = Line(plain: "subtitle", key: "subtitle-loc-key", arguments: "subtitle-loc-args")
    static let body = Line(plain: "body", key: "loc-key", arguments: "loc-args")

    let plain: String
    let key: String
    let arguments: String

    func read(from reader: inout FieldReader) -> AlertText? {
        let text = reader.text(plain)
        let localized = reader.text(key)
        let values = reader.texts(arguments)
        if localized == nil, !values.isEmpty {
            reader.report(arguments, .invalidValue, "'\(arguments)' needs '\(key)'.")
        }
        if localized != nil, text != nil {
            reader.report(key, .invalidValue, "'\(key)' stands instead of '\(plain)', not beside it.")
        }
        return localized.map { .localized(key: $0, arguments: values) } ?? text.map(AlertText.plain)
    }

    func write(_ line: AlertText?, to object: inout JSONObject) {
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
