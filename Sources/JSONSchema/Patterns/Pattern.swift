/// A compiled regular expression. ``PatternMatcher`` searches texts for it.
///
/// The syntax is JSON Schema's recommendation: ECMA-262 with the flag `u`, searched anywhere in the text unless
/// anchored. The matcher follows all alternatives at once (Thompson's simulation). So its cost is at most the length of
/// the text times the size of the pattern. This method cannot support look-around and back-references.
struct Pattern: Sendable {
    /// The maximum length of a pattern, in bytes of UTF-8.
    static let maximumLength = 4_096

    /// The pattern as written, for messages.
    let text: String
    let instructions: [PatternInstruction]
    let sets: [ScalarSet]

    init(_ text: String) throws(PatternError) {
        self.text = text
        let compiler = try PatternCompiler(Self.syntax(of: text))
        instructions = compiler.instructions
        sets = compiler.sets
    }

    /// Whether a text is a regular expression of ECMA-262, even one that this matcher does not support.
    static func isRegularExpression(_ text: String) -> Bool {
        do {
            _ = try syntax(of: text)
            return true
        } catch {
            return error.kind != .syntax
        }
    }

    private static func syntax(of text: String) throws(PatternError) -> PatternSyntax {
        guard text.utf8.count <= maximumLength else {
            throw PatternError(kind: .tooLarge, message: "it is longer than \(maximumLength) bytes")
        }
        var parser = PatternParser(text)
        return try parser.parse()
    }
}
