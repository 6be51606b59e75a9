package import JSON

/// The sound of an ordinary push (Apple, "Generating a remote notification", table 3).
package enum NotificationSound: Sendable, Hashable {
    /// `default`, or the name of a file in the app's bundle or its `Library/Sounds`.
    case named(String)
    /// The sound of a critical alert. It bypasses the mute switch; the app needs an entitlement for it. `volume` is
    /// from 0 to 1.
    case critical(name: String, volume: JSONNumber? = nil)

    /// Reads Apple's shape: a string, or `{critical: 1, name, volume?}`.
    package init(json: JSONValue, at place: JSONPointer = JSONPointer()) throws(InvalidFields) {
        if let name = json.string, !name.isEmpty {
            self = .named(name)
            return
        }
        guard json.object != nil else {
            let message = "A text that is not empty, or {critical, name, volume}, is expected."
            throw InvalidFields(InvalidFields.Issue(pointer: place, code: .wrongType, message: message))
        }
        var reader = FieldReader(json, at: place)
        // 1 is the only valid value: a sound that is not critical is a string.
        _ = reader.required("critical")
        _ = reader.integer("critical", in: 1...1, default: 1)
        _ = reader.required("name")
        let name = reader.text("name")
        let volume = reader.number("volume", in: 0...1)
        try reader.finish()
        self = .critical(name: name ?? "default", volume: volume)
    }

    /// Apple's shape.
    package var wire: JSONValue {
        switch self {
        case .named(let name):
            return .string(name)
        case .critical(let name, let volume):
            var object: JSONObject = ["critical": 1, "name": .string(name)]
            object["volume"] = volume.map(JSONValue.number)
            return .object(object)
        }
    }
}
