/// Why bytes were refused as a JSON document.
package struct JSONParsingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure. A retry with the same bytes fails again.
    package enum Code: String, Sendable, Hashable {
        /// A byte that RFC 8259's grammar does not allow at this position.
        case syntax
        /// The document ends before it is complete.
        case unexpectedEnd
        /// The bytes of a string are not UTF-8.
        case invalidUTF8
        /// A backslash that does not begin a valid escape.
        case invalidEscape
        /// A `\u` escape for one half of a surrogate pair.
        case loneSurrogate
        /// An object has the same key twice.
        case duplicateKey
        /// Arrays and objects are nested deeper than allowed.
        case tooDeep
        /// A number's exponent has more than ``JSONNumber/maximumExponentDigits``.
        case numberOutOfRange
        /// An escape of U+0000, if the caller refuses it.
        case nul
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
