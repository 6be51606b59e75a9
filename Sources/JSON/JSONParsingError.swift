/// Why bytes are not a JSON document that is accepted here.
package struct JSONParsingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure; none is worth a retry with the same bytes.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case syntax, unexpectedEnd, invalidUTF8, invalidEscape, loneSurrogate, duplicateKey, tooDeep,
                numberOutOfRange, nul
        }
        private let kind: Kind

        /// A byte that RFC 8259's grammar does not allow at that place.
        package static let syntax = Code(kind: .syntax)
        /// The document stops before it is complete.
        package static let unexpectedEnd = Code(kind: .unexpectedEnd)
        /// The bytes of a string are not UTF-8.
        package static let invalidUTF8 = Code(kind: .invalidUTF8)
        /// A backslash with something behind it that is no escape.
        package static let invalidEscape = Code(kind: .invalidEscape)
        /// A `\u` escape of one half of a surrogate pair.
        package static let loneSurrogate = Code(kind: .loneSurrogate)
        /// An object names one key twice.
        package static let duplicateKey = Code(kind: .duplicateKey)
        /// Arrays and objects stand inside each other deeper than allowed.
        package static let tooDeep = Code(kind: .tooDeep)
        /// A number's exponent has more than ``JSONNumber/maximumExponentDigits``.
        package static let numberOutOfRange = Code(kind: .numberOutOfRange)
        /// An escape of U+0000, where that is not taken.
        package static let nul = Code(kind: .nul)

        package var description: String { kind.rawValue }
    }

    /// What kind of failure it is.
    package let code: Code
    /// The byte at which the document went wrong, counted from 0.
    package let offset: Int
    /// A sentence for the author of the document. It can quote a key, so it stays out of ``description``.
    package let message: String

    /// Safe for logs: the kind and the place, nothing of the document.
    package var description: String { "JSON \(code) at byte \(offset)" }
}
