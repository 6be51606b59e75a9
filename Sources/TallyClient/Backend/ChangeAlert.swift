internal import ActivityModel

/// The alert of a change. It lights up the screen.
public struct ChangeAlert: Sendable, Hashable {
    /// A line of an alert.
    public enum Line: Sendable, Hashable {
        /// The same text for all users.
        case plain(String)
        /// A text that the app translates on each phone. The key finds it, and the arguments fill its placeholders.
        case localized(key: String, arguments: [String] = [])

        fileprivate var text: AlertText {
            switch self {
            case .plain(let text): .plain(text)
            case .localized(let key, let arguments): .localized(key: key, arguments: arguments)
            }
        }
    }

    /// The first line.
    public var title: Line
    /// The second line.
    public var body: Line
    /// `default`, or one of the app's sound files; nil: silent.
    public var sound: String?

    /// An alert with these lines.
    public init(title: Line, body: Line, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// An alert with plain text.
    public init(title: String, body: String, sound: String? = nil) {
        self.init(title: .plain(title), body: .plain(body), sound: sound)
    }

    var content: AlertContent { AlertContent(title: title.text, body: body.text, sound: sound) }
}
