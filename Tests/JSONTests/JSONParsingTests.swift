import JSON
import Testing

@Suite("JSON parsing")
struct JSONParsingTests {
    @Test(
        "A document that RFC 8259 allows is read",
        arguments: [
            // Structure and white space.
            ("[]", "[]"), ("{}", "{}"), ("[ ]", "[]"), (" \t\r\n[] \t\r\n", "[]"), ("[[],[[]]]", "[[],[[]]]"),
            ("[null, 1, \"1\", {}]", "[null,1,\"1\",{}]"), ("[1\n]", "[1]"), (" [1]", "[1]"), ("[2] ", "[2]"),
            ("[1,null,null,null,2]", "[1,null,null,null,2]"), ("[\"\"]", "[\"\"]"),
            // Scalars alone.
            ("null", "null"), ("true", "true"), ("false", "false"), ("42", "42"), ("-0.1", "-0.1"),
            ("\"asd\"", "\"asd\""), ("\"\"", "\"\""),
            // Objects.
            ("{\"asd\":\"sdf\"}", "{\"asd\":\"sdf\"}"), ("{\"\":0}", "{\"\":0}"), ("{\"a\":[]}", "{\"a\":[]}"),
            ("{\"min\": -1.0e+28, \"max\": 1.0e+28}", "{\"min\":-1.0e+28,\"max\":1.0e+28}"),
            ("{\n\"a\": \"b\"\n}", "{\"a\":\"b\"}"),
            ("{\"foo\\u0000bar\": 42}", "{\"foo\\u0000bar\":42}"), ("{\"b\":1,\"a\":2}", "{\"b\":1,\"a\":2}"),
            ("{\"title\":\"\\u041f\\u043e\"}", "{\"title\":\"По\"}"), ("{\"a\":1,\"A\":2}", "{\"a\":1,\"A\":2}"),
            // Numbers keep their digits.
            ("[123e65]", "[123e65]"), ("[0e+1]", "[0e+1]"), ("[0e1]", "[0e1]"), ("[ 4]", "[4]"), ("[-0]", "[-0]"),
            ("[-123]", "[-123]"),
            (
                "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
                "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]"
            ),
            ("[20e1]", "[20e1]"), ("[1E22]", "[1E22]"), ("[1E-2]", "[1E-2]"), ("[1E+2]", "[1E+2]"),
            ("[123.456e78]", "[123.456e78]"),
            ("[123.456789]", "[123.456789]"), ("[1.0]", "[1.0]"), ("[1.000000000000000005]", "[1.000000000000000005]"),
            ("[100000000000000000000]", "[100000000000000000000]"), ("[1e999]", "[1e999]"),
            ("[1e0000000000000000001]", "[1e0000000000000000001]"),
            // Strings.
            ("[\"\\u0060\\u012a\\u12AB\"]", "[\"`Īካ\"]"), ("[\"\\uD801\\udc37\"]", "[\"𐐷\"]"),
            ("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]", "[\"😹💍\"]"),
            ("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\"\\\\/\\b\\f\\n\\r\\t\"]"),
            ("[\"\\\\u0000\"]", "[\"\\\\u0000\"]"),
            ("[\"a/*b*/c/*d//e\"]", "[\"a/*b*/c/*d//e\"]"), ("[\"\\\\a\"]", "[\"\\\\a\"]"),
            ("[\"\\\\n\"]", "[\"\\\\n\"]"), ("[\"\\u0012\"]", "[\"\\u0012\"]"),
            ("[\"\\uFFFF\"]", "[\"\u{FFFF}\"]"), ("[\"\u{10FFFF}\"]", "[\"\u{10FFFF}\"]"),
            ("[\"\\uDBFF\\uDFFF\"]", "[\"\u{10FFFF}\"]"),
            ("[\"new\\u00A0line\"]", "[\"new\u{A0}line\"]"), ("[\"\\u0000\"]", "[\"\\u0000\"]"),
            ("[\"\\u002c\"]", "[\",\"]"),
            ("[\"π\"]", "[\"π\"]"), ("[\"asd \"]", "[\"asd \"]"), ("\" \"", "\" \""), ("[\"\\u0821\"]", "[\"ࠡ\"]"),
            ("[\"\\u0123\"]", "[\"ģ\"]"),
            ("[\"\u{2028}\u{2029}\"]", "[\"\u{2028}\u{2029}\"]"), ("[\"\\u0061\\u30af\\u30EA\\u30b9\"]", "[\"aクリス\"]"),
            ("[\"\u{7F}\"]", "[\"\u{7F}\"]"),
            ("[\"\\uA66D\"]", "[\"ꙭ\"]"), ("[\"\\u0022\"]", "[\"\\\"\"]"), ("[\"⍂㈴⍂\"]", "[\"⍂㈴⍂\"]"),
            ("[\"\\u200B\"]", "[\"\u{200B}\"]"),
            ("[\"abc\\ndef\\u0067hi\"]", "[\"abc\\ndefghi\"]"),
        ]
    )
    func accepted(document: String, compact: String) throws {
        #expect(try JSONValue(parsing: document).text == compact)
    }

    @Test(
        "A document that RFC 8259 does not allow is refused, with the place",
        arguments: [
            // Structure.
            ("", .unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("[", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2),
            ("[1,", .unexpectedEnd, 3),
            ("{", .unexpectedEnd, 1), ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5),
            ("{\"a\":1", .unexpectedEnd, 6),
            ("{\"a\":1,", .unexpectedEnd, 7), ("[1 true]", .syntax, 3), ("[\"\": 1]", .syntax, 3),
            ("[\"\"],", .syntax, 4), ("[,1]", .syntax, 1),
            ("[1,,2]", .syntax, 3), ("[\"x\"]]", .syntax, 5), ("[\"\",]", .syntax, 4), ("[3[4]]", .syntax, 2),
            ("[1:2]", .syntax, 2), ("[*]", .syntax, 1),
            ("[,]", .syntax, 1), ("]", .syntax, 0), ("[}", .syntax, 1), ("{]", .syntax, 1), ("[1]x", .syntax, 3),
            ("1]", .syntax, 1), ("[][]", .syntax, 2),
            ("{},{}", .syntax, 2), ("{}}", .syntax, 2), ("[1,\n1\n,1", .unexpectedEnd, 8),
            // Objects.
            ("[\"x\", truth]", .syntax, 6), ("{[: \"x\"}", .syntax, 1), ("{\"x\", null}", .syntax, 4),
            ("{\"x\"::\"b\"}", .syntax, 5), ("{key: 'value'}", .syntax, 1),
            ("{\"a\":\"a\" 123}", .syntax, 9), ("{:\"b\"}", .syntax, 1), ("{\"a\" b}", .syntax, 5),
            ("{1:1}", .syntax, 1), ("{\"id\":0,}", .syntax, 8),
            ("{\"id\":0,,}", .syntax, 8), ("{'a':0}", .syntax, 1), ("{null:null,null:null}", .syntax, 1),
            ("{\"a\":\"b\"}/**/", .syntax, 9), ("{\"a\":\"b\"}#", .syntax, 9),
            ("{\"a\":1 \"b\":2}", .syntax, 7), ("{\"a\"}", .syntax, 4),
            // Words.
            ("tru", .unexpectedEnd, 3), ("fals", .unexpectedEnd, 4), ("nul", .unexpectedEnd, 3), ("[True]", .syntax, 1),
            ("[FALSE]", .syntax, 1), ("nulls", .syntax, 4),
            ("undefined", .syntax, 0), ("[NaN]", .syntax, 1), ("[-NaN]", .syntax, 2), ("[Infinity]", .syntax, 1),
            ("[-Infinity]", .syntax, 2), ("[nan]", .syntax, 1),
            // Numbers.
            ("[++1234]", .syntax, 1), ("[+1]", .syntax, 1), ("[-01]", .syntax, 3), ("[-2.]", .syntax, 4),
            ("[.2e-3]", .syntax, 1), ("[0.1.2]", .syntax, 4), ("[0.3e+]", .syntax, 6),
            ("[0.3e]", .syntax, 5), ("[0.e1]", .syntax, 3), ("[0E+]", .syntax, 4), ("[0e]", .syntax, 3),
            ("[1 000.0]", .syntax, 3), ("[1eE2]", .syntax, 3), ("[2.e+3]", .syntax, 3),
            ("[0x42]", .syntax, 2), ("[-1x]", .syntax, 3), ("[1.2a-3]", .syntax, 4), ("[012]", .syntax, 2),
            ("[-]", .syntax, 2), ("-", .unexpectedEnd, 1), ("1e", .unexpectedEnd, 2),
            ("[--2.]", .syntax, 2), ("[-foo]", .syntax, 2), ("[- 1]", .syntax, 2),
            ("[1e9999999999]", .numberOutOfRange, 1), ("[-1e-4000000000]", .numberOutOfRange, 1),
            ("[0.4e00669999999999999999999999999999999999999]", .numberOutOfRange, 1),
            // Strings.
            ("\"", .unexpectedEnd, 1), ("[\"a", .unexpectedEnd, 3), ("[\"\\", .unexpectedEnd, 3),
            ("[\"\\u00", .unexpectedEnd, 6), ("[\"\\x00\"]", .invalidEscape, 2),
            ("[\"\\u00A\"]", .invalidEscape, 2), ("[\"\\a\"]", .invalidEscape, 2), ("[\"\\u 1b\"]", .invalidEscape, 2),
            ("[\"\\U0041\"]", .invalidEscape, 2), ("[\"\\u+041\"]", .invalidEscape, 2),
            ("[\"a\tb\"]", .syntax, 3), ("[\"new\nline\"]", .syntax, 5), ("[\"\u{0}\"]", .syntax, 2),
            ("['a']", .syntax, 1), ("abc", .syntax, 0), ("[\u{201C}a\u{201D}]", .syntax, 1),
            ("[\"\\uD800\"]", .loneSurrogate, 2), ("[\"\\uDd1ea\"]", .loneSurrogate, 2),
            ("[\"\\uD800\\u\"]", .invalidEscape, 2), ("[\"\\uD800\\u1\"]", .invalidEscape, 2),
            ("[\"\\uDADA\\uD800\"]", .loneSurrogate, 2), ("[\"\\ud800abc\"]", .loneSurrogate, 2),
            ("[\"x\\ud800\\n\"]", .loneSurrogate, 3), ("[\"\\u0041\\udc00\"]", .loneSurrogate, 8),
            // White space that is not JSON's, and a byte order mark.
            ("[\u{C}]", .syntax, 1), ("\u{2060}[]", .syntax, 0), ("\u{FEFF}{}", .syntax, 0), ("\u{A0}1", .syntax, 0),
            ("[1]\u{0}", .syntax, 3), ("\u{B}1", .syntax, 0),
            // Repeated keys.
            ("{\"a\":1,\"a\":1}", .duplicateKey, 7), ("{\"a\":{\"b\":1,\"b\":2}}", .duplicateKey, 12),
            ("{\"a\":1,\"\\u0061\":2}", .duplicateKey, 7), ("{\"\\u0061\":1,\"a\":2}", .duplicateKey, 12),
            ("{\"\\u0061\":1,\"b\":2,\"a\":2}", .duplicateKey, 18),
            ("{\"abc\":1,\"axc\":2,\"abc\":2}", .duplicateKey, 17),
            ("{\"\":1,\"\":2}", .duplicateKey, 6),
        ] as [(String, JSONParsingError.Code, Int)]
    )
    func refused(document: String, code: JSONParsingError.Code, offset: Int) {
        let error = #expect(throws: JSONParsingError.self) { try JSONValue(parsing: document) }
        #expect(error?.code == code)
        #expect(error?.offset == offset)
        #expect(error?.message.hasSuffix(".") == true)
    }

    @Test(
        "Bytes that are not UTF-8 are refused at the first bad one",
        arguments: [
            ([0x80], 2), ([0xC0, 0xAF], 2), ([0xC1, 0x80], 2), ([0xE0, 0x80, 0x80], 3), ([0xE2, 0x82], 4),
            ([0xED, 0xA0, 0x80], 3),
            ([0xF0, 0x80, 0x80, 0x80], 3), ([0xF4, 0x90, 0x80, 0x80], 3), ([0xF5, 0x80, 0x80, 0x80], 2), ([0xFF], 2),
            ([0xFE], 2),
            ([0x61, 0xE9, 0x62], 4), ([0xE2, 0x82, 0xAC, 0x80], 5), ([0xF0, 0x9F, 0x98], 5),
        ] as [([UInt8], Int)]
    )
    func notUTF8(inside: [UInt8], offset: Int) {
        let document = Array("[\"".utf8) + inside + Array("\"]".utf8)
        let error = #expect(throws: JSONParsingError.self) { try JSONValue.parse(document) }
        #expect(error?.code == .invalidUTF8)
        #expect(error?.offset == offset)
    }

    @Test("Depth counts arrays and objects inside each other, up to the limit")
    func depth() throws {
        let deep = { (levels: Int) in String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
        #expect(throws: Never.self) { try JSONValue(parsing: deep(64)) }
        let error = #expect(throws: JSONParsingError.self) { try JSONValue(parsing: deep(65)) }
        #expect(error?.code == .tooDeep)
        #expect(error?.offset == 64)
        #expect(throws: JSONParsingError.self) { try JSONValue(parsing: String(repeating: "{\"a\":", count: 100_000)) }
        #expect(throws: Never.self) { try JSONValue.parse(Array(deep(3).utf8), maximumDepth: 3) }
        #expect(throws: JSONParsingError.self) { try JSONValue.parse(Array(deep(4).utf8), maximumDepth: 3) }
    }

    @Test("Keys that differ in normalization only are different keys")
    func normalization() throws {
        let value = try JSONValue(parsing: "{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(value["\u{E9}"] == 1)
        #expect(value["e\u{301}"] == 2)
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    }

    @Test("Combining marks in another order make another text, though Swift holds them equal")
    func markOrder() throws {
        let (left, right) = ("a\u{323}\u{307}", "a\u{307}\u{323}")
        #expect(left == right)
        #expect(JSONValue.string(left) != .string(right))
        #expect(JSONPointer(tokens: [left]) != JSONPointer(tokens: [right]))
        #expect(try JSONValue(parsing: "{\"\(left)\":1,\"\(right)\":2}")[right] == 2)
    }

    @Test(
        "No control character stands in a string as it is, and all can as an escape",
        arguments: 0..<0x20 as Range<UInt8>
    )
    func controlCharacters(byte: UInt8) throws {
        let error = #expect(throws: JSONParsingError.self) { try JSONValue.parse([0x22, byte, 0x22]) }
        #expect(error?.code == .syntax)
        let text = JSONValue.string(String(decoding: [byte], as: UTF8.self))
        #expect(try JSONValue.parse(text.serialized()) == text)
    }

    @Test("What a string may not hold as it is ends it at every distance, also behind bytes that are not ASCII")
    func distances() throws {
        for length in 0..<40 {
            for filler in ["x", "\u{E9}", "\u{20AC}", "\u{7F}", "\u{1F600}"] {
                let text = String(repeating: filler, count: length)
                #expect(try JSONValue(parsing: "[\"\(text)\",1]") == [.string(text), 1])
                #expect(try JSONValue(parsing: "[\"\(text)\\n\(text)\",1]") == [.string(text + "\n" + text), 1])
                let error = #expect(throws: JSONParsingError.self) { try JSONValue(parsing: "[\"\(text)\n        \"]") }
                #expect(error?.offset == 2 + text.utf8.count)
                var bytes = Array("[\"\(text)".utf8)
                bytes += [0xFF] + Array("yyyyyyyyyyyy\"]".utf8)
                #expect(throws: JSONParsingError.self) { try JSONValue.parse(bytes) }
            }
        }
    }

    @Test("A repeated key is found among many")
    func duplicateAmongMany() throws {
        let members = (0..<50_000).map { "\"k\($0)\":\($0)" }
        let value = try JSONValue(parsing: "{" + members.joined(separator: ",") + "}")
        #expect(value["k49999"] == 49_999)
        let error = #expect(throws: JSONParsingError.self) {
            try JSONValue(parsing: "{" + members.joined(separator: ",") + ",\"k77\":0}")
        }
        #expect(error?.code == .duplicateKey)
    }

    @Test("An error's description quotes nothing of the document")
    func safeDescription() throws {
        let error = try #require(throws: JSONParsingError.self) {
            try JSONValue(parsing: "{\"secret\":1,\"secret\":2}")
        }
        #expect(error.message.contains("secret"))
        #expect(!"\(error)".contains("secret"))
    }
}
