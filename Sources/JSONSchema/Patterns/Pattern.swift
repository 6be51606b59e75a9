/// A regular expression, ready to be looked for.
///
/// It is what JSON Schema recommends: ECMA-262 with the flag `u`, searched for anywhere in the text unless it is
/// anchored. The matcher follows all ways at once (Thompson's simulation), so its work is at most the length of the
/// text times the size of the pattern, whatever both are. Look-around and back-references cannot be had that way.
struct Pattern: Sendable {
    /// The longest text that is read as a pattern, in bytes of UTF-8.
    static let maximumLength = 4_096

    /// As written, for messages.
    let text: String
    let instructions: [PatternInstruction]
    let sets: [ScalarSet]

    init(_ text: String) throws(PatternError) {
        self.text = text
        let compiler = try PatternCompiler(Self.syntax(of: text))
        instructions = compiler.instructions
        sets = compiler.sets
    }

    /// Whether a text is a regular expression of ECMA-262, if only one that is not matched here.
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
