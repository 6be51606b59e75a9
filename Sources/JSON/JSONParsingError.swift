/// Why bytes were refused as a JSON document.
package struct JSONParsingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure. A retry with the same bytes fails again.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: String {
            case syntax, unexpectedEnd, invalidUTF8, invalidEscape, loneSurrogate, duplicateKey, tooDeep,
                numberOutOfRange, nul
        }
        private let kind: Kind

        /// A byte that RFC 8259's grammar does not allow at this position.
        package static let syntax = Code(kind: .syntax)
        /// The document ends before it is complete.
        package static let unexpectedEnd = Code(kind: .unexpectedEnd)
        /// The bytes of a string are not UTF-8.
        package static let invalidUTF8 = Code(kind: .invalidUTF8)
        /// A backslash that does not begin a valid escape.
        package static let invalidEscape = Code(kind: .invalidEscape)
        /// A `\u` escape for one half of a surrogate pair.
        package static let loneSurrogate = Code(kind: .loneSurrogate)
        /// An object has the same key twice.
        package static let duplicateKey = Code(kind: .duplicateKey)
        /// Arrays and objects are nested deeper than allowed.
        package static let tooDeep = Code(kind: .tooDeep)
        /// A number's exponent has more than ``JSONNumber/maximumExponentDigits``.
        package static let numberOutOfRange = Code(kind: .numberOutOfRange)
        /// An escape of U+0000, if the caller refuses it.
        package static let nul = Code(kind: .nul)

        package var description: String { kind.rawValue }
    }

    /// The kind of failure.
    package let code: Code
    /// The offset of the first wrong byte, counted from 0.
    package let offset: Int
    /// A message for the author of the document. It can quote a key, so ``description`` omits it.
    package let message: String

    /// Safe for logs: the kind and the offset, nothing from the document.
    package var description: String { "JSON \(code) at byte \(offset)" }
}
