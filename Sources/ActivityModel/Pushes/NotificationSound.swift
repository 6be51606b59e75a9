package import JSON

/// The sound of an ordinary push (Apple, "Generating a remote notification", table 3).
package enum NotificationSound: Sendable, Hashable {
    /// `default`, or the name of a file in the app's bundle or its `Library/Sounds`.
    case named(String)
    /// The sound of a critical alert. It bypasses the mute switch; the app needs an entitlement for it. `volume` is
    /// from 0 to 1.
    case critical(name: String, volume: JSONNumber? = nil)

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
