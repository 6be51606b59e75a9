/// A regular expression, read.
indirect enum PatternSyntax: Sendable {
    /// One scalar of a set.
    case scalar(ScalarSet)
    case sequence([PatternSyntax])
    case alternatives([PatternSyntax])
    /// `most` is `nil` without an upper limit. Whether it is lazy makes no difference to whether something matches.
    case repetition(PatternSyntax, least: Int, most: Int?)
    case assertion(PatternAssertion)
    /// ECMA-262 has it, but it cannot be matched in linear time; the text names it.
    case unsupported(String)
}

/// What must hold between two scalars.
enum PatternAssertion: Sendable {
    case start, end, wordBoundary, notWordBoundary

    /// Whether it holds between two neighbours; `nil` stands for the edge of the text.
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
