internal import ActivityModel

/// What lights the screen beside a change.
public struct ChangeAlert: Sendable, Hashable {
    /// A line of an alert.
    public enum Line: Sendable, Hashable {
        /// The same text for everybody.
        case plain(String)
        /// A text that the app translates on each phone, by its key; the arguments take the places in it.
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
    /// `default`, or a sound file of the app's; nil: silent.
    public var sound: String?

    /// An alert of these lines.
    public init(title: Line, body: Line, sound: String? = nil) {
        self.title = title
        self.body = body
        self.sound = sound
    }

    /// An alert of plain texts.
    public init(title: String, body: String, sound: String? = nil) {
        self.init(title: .plain(title), body: .plain(body), sound: sound)
    }

    var content: AlertContent { AlertContent(title: title.text, body: body.text, sound: sound) }
}
