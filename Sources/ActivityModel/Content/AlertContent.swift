package import JSON

/// The alert of a change: it lights the screen and expands the Dynamic Island.
///
/// The API's shape is `{title, body, sound?}`. The wire has the same shape in Apple's spelling. Unlike in ordinary
/// pushes, the sound is a member of the alert (Apple, ActivityKit pushes).
package struct AlertContent: Sendable, Hashable {
    /// The first line.
    package var title: AlertText
    /// The second line.
    package var body: AlertText
    /// `default` or the name of a file in the app's bundle.
    package var sound: String?

    /// Creates an alert from its parts.
    package init(title: AlertText, body: AlertText, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// The same words without a sound.
    package var silent: AlertContent { AlertContent(title: title, body: body) }

    /// Apple's shape.
    package var wire: JSONValue {
        var object: JSONObject = ["title": title.wire, "body": body.wire]
        object["sound"] = sound.map(JSONValue.string)
        return .object(object)
    }

    /// An upper bound of its bytes in either shape.
    var bound: Int { 64 + title.bound + body.bound + (sound.map(Self.bound) ?? 0) }

    /// An upper bound of a string's bytes in JSON: an escape takes six bytes for one.
    static func bound(_ text: String) -> Int { text.utf8.count * 6 + 2 }
}

/// A line of an alert: a plain text, or a key that the app translates.
package enum AlertText: Sendable, Hashable {
    case plain(String)
    case localized(key: String, arguments: [String])

    /// The API's shape.
    package var json: JSONValue { value(keyName: "loc_key", argumentsName: "loc_args") }

    /// Apple's shape.
    package var wire: JSONValue { value(keyName: "loc-key", argumentsName: "loc-args") }

    fileprivate var bound: Int {
        switch self {
        case .plain(let text): AlertContent.bound(text)
        case .localized(let key, let arguments):
            arguments.reduce(32 + AlertContent.bound(key)) { $0 + AlertContent.bound($1) + 1 }
        }
    }

    private func value(keyName: String, argumentsName: String) -> JSONValue {
        switch self {
        case .plain(let text):
            return .string(text)
        case .localized(let key, let arguments):
            var object: JSONObject = [keyName: .string(key)]
            if !arguments.isEmpty { object[argumentsName] = .array(arguments.map(JSONValue.string)) }
            return .object(object)
        }
    }
}
