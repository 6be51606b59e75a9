package import JSON

/// Options for compiling a schema document.
package struct SchemaOptions: Sendable {
    /// How to treat keywords that 2020-12 does not define.
    package enum UnknownKeywords: Sendable {
        /// Refuses them, because most are typing errors that would leave a value unchecked. Keywords that begin with
        /// `x-` are allowed.
        case refuse
        /// Ignores them, as the specification requires.
        case ignore
    }

    /// How to treat `format`.
    package enum Formats: Sendable {
        /// Treats it as an annotation, as the specification requires.
        case annotate
        /// `date-time`, `date`, `time`, `uuid`, `uri`, `email`, `ipv4`, `ipv6` and `regex` are checked.
        case assert
    }

    /// How to treat keywords that 2020-12 does not define.
    package var unknownKeywords = UnknownKeywords.refuse
    /// How to treat `format`.
    package var formats = Formats.annotate
    /// The documents that references may lead to, by URI. The compiler never fetches one.
    package var documents: [String: JSONValue] = [:]

    /// The strictest options: unknown keywords are refused, and references to other documents fail.
    package init() {}
}
