/// Why a text cannot be used as a pattern.
struct PatternError: Error, Equatable {
    enum Kind {
        /// Not a regular expression of ECMA-262 with the flag `u`.
        case syntax
        /// A regular expression, but with something that no matcher in linear time can do, or that is not known here.
        case unsupported
        /// Beyond what one pattern may cost.
        case tooLarge
    }

    let kind: Kind
    /// A clause for the author: `'(?=' looks ahead, which is not supported`.
    let message: String
}
