/// Why a text cannot be used as a pattern.
struct PatternError: Error, Equatable {
    enum Kind {
        /// Not a regular expression of ECMA-262 with the flag `u`.
        case syntax
        /// A valid regular expression with a feature that is unknown here or cannot be matched in linear time.
        case unsupported
        /// Exceeds the size limit of a pattern.
        case tooLarge
    }

    let kind: Kind
    /// A clause for the author: `'(?=' looks ahead, which is not supported`.
    let message: String
}
