/// An identifier: text that follows a fixed grammar. Each kind is a type of its own, so that no one mixes them up.
package protocol TextIdentifier: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The text.
    var rawValue: String { get }

    /// Whether the text follows the grammar of this kind of identifier.
    static func accepts(_ text: String) -> Bool

    /// Takes text that passed ``accepts(_:)`` before, for example from Tally's own database. It is not checked again.
    init(stored text: String)
}

extension TextIdentifier {
    /// Takes text from outside; `nil` if it violates the grammar.
    package init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.init(stored: text)
    }

    /// The grammar of ids that callers choose.
    package static func accepts(_ text: String) -> Bool { Alphabet.isCallerID(text) }

    package var description: String { rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The alphabets of identifiers.
enum Alphabet {
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) }

    /// Whether the text has 1 to `maximum` bytes and all of them satisfy `fits`.
    static func consists(_ text: String, maximum: Int, of fits: (UInt8) -> Bool) -> Bool {
        (1...maximum).contains(text.utf8.count) && text.utf8.allSatisfy(fits)
    }

    /// Whether the text has 1 to 128 printable ASCII characters. Others have several forms in Unicode that look equal.
    static func isOpaque(_ text: String) -> Bool { consists(text, maximum: 128) { (0x20...0x7E).contains($0) } }

    /// The grammar of ids that callers choose: any printable text, percent-encoded in a URL path.
    ///
    /// It excludes `.` and `..`. Clients resolve them as path steps and would request another resource.
    static func isCallerID(_ text: String) -> Bool { text != "." && text != ".." && isOpaque(text) }
}
