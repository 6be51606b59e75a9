/// The syntax tree of a regular expression.
indirect enum PatternSyntax: Sendable {
    /// One scalar of a set.
    case scalar(ScalarSet)
    case sequence([PatternSyntax])
    case alternatives([PatternSyntax])
    /// `most` is `nil` without an upper limit. Laziness does not affect whether a text matches.
    case repetition(PatternSyntax, least: Int, most: Int?)
    case assertion(PatternAssertion)
    /// A valid ECMA-262 feature that cannot be matched in linear time; the text names it.
    case unsupported(String)
}

/// A condition between two scalars.
enum PatternAssertion: Sendable {
    case start, end, wordBoundary, notWordBoundary

    /// Whether the condition is true between two scalars; `nil` is the edge of the text.
    func holds(between previous: Unicode.Scalar?, and next: Unicode.Scalar?) -> Bool {
        switch self {
        case .start: previous == nil
        case .end: next == nil
        case .wordBoundary: Self.isWord(previous) != Self.isWord(next)
        case .notWordBoundary: Self.isWord(previous) == Self.isWord(next)
        }
    }

    private static func isWord(_ scalar: Unicode.Scalar?) -> Bool { scalar.map(ScalarSet.word.contains) ?? false }
}
