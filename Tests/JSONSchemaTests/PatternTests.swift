import JSON
import JSONSchema
import Testing

@Suite("Patterns")
struct PatternTests {
    @Test(
        "Find what ECMA-262 says with the flag u",
        arguments: [
            ("", "x", true), ("a", "cab", true), ("a", "xyz", false), ("^a", "ba", false), ("a$", "ab", false),
            ("^a|b$", "xb", true), ("^(?:a|b)$", "xb", false), ("^a*$", "", true), ("^a?$", "aa", false),
            ("^a{2,3}$", "a", false), ("^a{2,3}$", "aa", true), ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaaa", true),
            ("^a{0}$", "", true), ("^a{0}$", "a", false), ("^(ab){2}$", "abab", true), ("^(a|b)+?c$", "abac", true),
            (".", "\n", false), (".", "\u{2028}", false), ("^.$", "💩", true), ("^..$", "e\u{301}", true),
            ("^é$", "e\u{301}", false), ("[abc]", "xbx", true), ("^[^abc]$", "d", true), ("^[^abc]$", "a", false),
            ("^[a-c]$", "b", true), ("^[-a]$", "-", true), ("^[a-]$", "-", true), ("^[\\]]$", "]", true),
            ("^[💩-💫]$", "💪", true), ("[]", "a", false), ("^[^]$", "\n", true), ("^[\\d.]+$", "1.5", true),
            ("^[^\\d]$", "5", false), ("^[\\D]$", "5", false), ("^[\\D5]$", "5", true),
            ("^\\d+$", "123", true), ("^\\d$", "\u{0967}", false), ("^\\w+$", "aZ_9", true), ("^\\w$", "é", false),
            ("^\\W$", "é", true), ("^\\s$", "\u{A0}", true), ("^\\s$", "\u{FEFF}", true), ("^\\S$", "\u{2003}", false),
            ("\\bcat\\b", "a cat.", true), ("\\bcat\\b", "concat", false), ("\\Bcat", "concat", true),
            ("^\\t\\n\\v\\f\\r$", "\t\n\u{B}\u{C}\r", true), ("^\\x41\\u0042\\u{43}$", "ABC", true),
            ("^\\ud83d\\udca9$", "💩", true), ("^\\cJ$", "\n", true), ("^\\0$", "\0", true), ("^[\\b]$", "\u{8}", true),
            ("^\\^\\$\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/\\\\$", "^$.*+?()[]{}|/\\", true),
            ("^\\p{L}+$", "Åλज", true), ("^\\p{Letter}$", "1", false), ("^\\P{L}$", "1", true),
            ("^[\\p{Lu}\\d]+$", "AÄ1", true), ("^\\p{gc=Nd}$", "\u{0967}", true), ("^[^\\p{L}]$", "a", false),
            ("^[\\P{L}a]$", "b", false), ("^[\\P{L}a]$", "a", true), ("^\\p{Alphabetic}$", "ß", true),
            ("(?<year>\\d{4})-(?<month>\\d\\d)", "am 2026-11", true), ("(|a)+b", "b", true), ("(a*)*b", "aaab", true),
            ("^(?:(a)|b|)*$", "abba", true), ("(^|,)x(,|$)", "y,x,z", true), ("^\\S(?:.*\\S)?$", "a b", true),
        ]
    )
    func find(pattern: String, text: String, isFound: Bool) throws {
        #expect(try CompiledSchema(["pattern": .string(pattern)]).isValid(.string(text)) == isFound)
    }

    @Test(
        "Are refused if they are no regular expression",
        arguments: [
            "(", ")", "(?", "(?a)", "[", "[a", "[b-a]", "[\\d-z]", "a**", "*a", "a{2", "a{2,1}", "{1}", "}", "]",
            "a{x}", "\\", "\\q", "\\-", "\\x1", "\\u12", "\\u{110000}", "\\u{}", "\\c1", "\\01", "\\p", "\\p{", "(?<a",
            "(?<1>a)", "(?<a>x)(?<a>y)", "^*", "\\Z", "\\a", "\\1", "\\k<a>", "(a)\\2", "\\k",
        ]
    )
    func syntax(pattern: String) throws {
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(["pattern": .string(pattern)]) }
        #expect(error.code == .invalidKeyword)
        #expect(error.pointer.description == "/pattern")
    }

    @Test(
        "Are refused by name if no linear matcher can do them",
        arguments: [
            ("a(?=b)", "'(?=' looks ahead"), ("a(?!b)", "'(?!' looks ahead"), ("(?<=a)b", "'(?<=' looks behind"),
            ("(?<!a)b", "'(?<!' looks behind"), ("(a)\\1", "'\\1' refers back"), ("(?<n>a)\\k<n>", "'\\k' refers back"),
            ("\\p{Script=Greek}", "'Script=Greek'"),
        ]
    )
    func unsupported(pattern: String, what: String) throws {
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(["pattern": .string(pattern)]) }
        #expect(error.code == .unsupportedKeyword)
        #expect(error.message.contains(what))
    }

    @Test(
        "Are refused if they are too large, without the work of writing them out",
        arguments: [
            "a{10001}", "(a{1000}){1000}", "((((a{99}){99}){99}){99}){99}", "(((){9999}){9999}){9999}a{9999}",
            "a{99999999999999999999}", String(repeating: "(", count: 51) + String(repeating: ")", count: 51),
            String(repeating: "a", count: 4_097), String(repeating: "(", count: 4_000),
        ]
    )
    func tooLarge(pattern: String) throws {
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(["pattern": .string(pattern)]) }
        #expect(error.code == .tooLarge)
    }

    @Test("All patterns of a schema together are bounded, too")
    func tooManyTogether() throws {
        var patterns = JSONObject()
        for index in 0..<100 { patterns["\(index)a{5000}"] = true }
        let error = try #require(throws: SchemaError.self) {
            try CompiledSchema(["patternProperties": .object(patterns)])
        }
        #expect(error.code == .tooLarge)
    }

    /// A backtracking matcher would need more steps than there are atoms for each of these.
    @Test(
        "Patterns that ruin a backtracking matcher are answered at once",
        arguments: [
            "^(a+)+$", "^(a|aa)+$", "^(a|a?)+$", "(.*)*(.*)*(.*)*x$", "^(([a-z])+.)+[A-Z]([a-z])+$",
            "^(a?){200}a{200}b$", "(x+x+)+y", "^(?:a*)*$",
        ]
    )
    func hostile(pattern: String) throws {
        let schema = try CompiledSchema(["pattern": .string(pattern)])
        #expect(!schema.isValid(.string(String(repeating: "a", count: 5_000) + "!")))
    }

    @Test("A search that would take too much work ends, and the value counts as invalid")
    func exhausted() throws {
        let schema = try CompiledSchema(["items": ["pattern": "(.{1,1000}){1,4}x$"]])
        let texts = Array(repeating: JSONValue.string(String(repeating: "a", count: 10_000)), count: 100)
        #expect(!schema.isValid(.array(texts)))
        #expect(
            schema.validate(.array(texts)).map(\.message) == [
                "this value takes too much work to check against this schema"
            ]
        )
    }
}
