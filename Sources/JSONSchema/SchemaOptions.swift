package import JSON

/// How a schema document is read.
package struct SchemaOptions: Sendable {
    /// What becomes of words that 2020-12 does not have.
    package enum UnknownKeywords: Sendable {
        /// They are refused, since most are slips of the pen that would leave a value unchecked. Words that begin with
        /// `x-` pass.
        case refuse
        /// They pass, as the specification has it.
        case ignore
    }

    /// What becomes of `format`.
    package enum Formats: Sendable {
        /// It says something and constrains nothing, as the specification has it.
        case annotate
        /// `date-time`, `date`, `time`, `uuid`, `uri`, `email`, `ipv4`, `ipv6` and `regex` are checked.
        case assert
    }

    /// What becomes of words that 2020-12 does not have.
    package var unknownKeywords = UnknownKeywords.refuse
    /// What becomes of `format`.
    package var formats = Formats.annotate
    /// The documents that references may lead to, by their URIs. Nothing is ever fetched.
    package var documents: [String: JSONValue] = [:]

    /// The strictest reading: unknown words are refused, and nothing outside of the document is known.
    package init() {}
}
