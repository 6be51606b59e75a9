/// The caller's own id of one real thing (a match, an order): 1 to 128 printable characters,
/// but not `.` or `..`.
package struct ActivityID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }
}

/// One installation of an app. The app chooses the id and keeps it: 1 to 128 printable characters, but not `.` or `..`.
package struct DeviceID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }
}

/// The caller's own id of a user: 1 to 128 printable characters, but not `.` or `..`. One user can have many devices.
package struct UserID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }
}

/// The operator's own id of a webhook: 1 to 128 printable characters, but not `.` or `..`. It is unique in its app.
package struct WebhookID: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }
}

/// The name of a Swift `ActivityAttributes` struct, as `attributes-type` carries it: without the module, in its exact
/// case.
package struct ActivityTypeName: TextIdentifier {
    package let rawValue: String

    package init(stored text: String) { rawValue = text }

    /// `[A-Za-z_][A-Za-z0-9_]*`, at most 128 characters.
    package static func accepts(_ text: String) -> Bool {
        guard let first = text.utf8.first, !Alphabet.isDigit(first) else { return false }
        return Alphabet.consists(text, maximum: 128) { Alphabet.isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
    }
}
