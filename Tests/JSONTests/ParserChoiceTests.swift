import JSON
import Testing

/// What RFC 8259 leaves to the parser, under the names that JSONTestSuite has for these cases, and what it allows but
/// is refused here.
@Suite("What a JSON parser may choose")
struct ParserChoiceTests {
    @Test(
        "Numbers of any size are kept, as long as their exponent can be calculated with",
        arguments: [
            ("i_number_double_huge_neg_exp", "[123.456e-789]"), ("i_number_neg_int_huge_exp", "[-1e+9999]"),
            ("i_number_pos_double_huge_exp", "[1.5e+9999]"), ("i_number_real_neg_overflow", "[-123123e100000]"),
            ("i_number_real_pos_overflow", "[123123e100000]"), ("i_number_real_underflow", "[123e-10000000]"),
            ("i_number_too_big_neg_int", "[-123123123123123123123123123123]"),
            ("i_number_too_big_pos_int", "[100000000000000000000]"),
            ("i_number_very_big_negative_int", "[-237462374673276894279832749832423479823246327846]"),
        ]
    )
    func kept(name: String, document: String) throws {
        #expect(try JSONValue(parsing: document).text == document, "\(name)")
    }

    @Test(
        "Texts that are not Unicode are refused",
        arguments: [
            ("i_object_key_lone_2nd_surrogate", "{\"\\uDFAA\":0}", .loneSurrogate),
            ("i_string_1st_surrogate_but_2nd_missing", "[\"\\uDADA\"]", .loneSurrogate),
            ("i_string_1st_valid_surrogate_2nd_invalid", "[\"\\uD888\\u1234\"]", .loneSurrogate),
            ("i_string_incomplete_surrogate_and_escape_valid", "[\"\\uD800\\n\"]", .loneSurrogate),
            ("i_string_incomplete_surrogate_pair", "[\"\\uDd1ea\"]", .loneSurrogate),
            ("i_string_incomplete_surrogates_escape_valid", "[\"\\uD800\\uD800\\n\"]", .loneSurrogate),
            ("i_string_invalid_lonely_surrogate", "[\"\\ud800\"]", .loneSurrogate),
            ("i_string_invalid_surrogate", "[\"\\ud800abc\"]", .loneSurrogate),
            ("i_string_inverted_surrogates_U+1D11E", "[\"\\uDd1e\\uD834\"]", .loneSurrogate),
            ("i_string_lone_second_surrogate", "[\"\\uDFAA\"]", .loneSurrogate),
        ] as [(String, String, JSONParsingError.Code)]
    )
    func surrogates(name: String, document: String, code: JSONParsingError.Code) throws {
        let error = #expect(throws: JSONParsingError.self, "\(name)") { try JSONValue(parsing: document) }
        #expect(error?.code == code, "\(name)")
    }

    @Test(
        "Bytes that are not UTF-8 are refused, whatever else they may be",
        arguments: [
            ("i_string_UTF-8_invalid_sequence", [0xE6, 0x97, 0xA5, 0xD1, 0x88, 0xFA]),
            ("i_string_UTF8_surrogate_U+D800", [0xED, 0xA0, 0x80]), ("i_string_invalid_utf-8", [0xFF]),
            ("i_string_iso_latin_1", [0xE9]), ("i_string_lone_utf8_continuation_byte", [0x81]),
            ("i_string_not_in_unicode_range", [0xF4, 0xBF, 0xBF, 0xBF]),
            ("i_string_overlong_sequence_2_bytes", [0xC0, 0xAF]),
            ("i_string_overlong_sequence_6_bytes", [0xFC, 0x83, 0xBF, 0xBF, 0xBF, 0xBF]),
            ("i_string_overlong_sequence_6_bytes_null", [0xFC, 0x80, 0x80, 0x80, 0x80, 0x80]),
            ("i_string_truncated-utf-8", [0xE0, 0xFF]),
        ] as [(String, [UInt8])]
    )
    func bytes(name: String, inside: [UInt8]) throws {
        let document = Array("[\"".utf8) + inside + Array("\"]".utf8)
        let error = #expect(throws: JSONParsingError.self, "\(name)") { try JSONValue.parse(document) }
        #expect(error?.code == .invalidUTF8, "\(name)")
    }

    @Test("Another encoding, a byte order mark, too much depth and too large an exponent are refused")
    func documents() throws {
        let cases: [(String, [UInt8], JSONParsingError.Code)] = [
            ("i_string_UTF-16LE_with_BOM", [0xFF, 0xFE, 0x5B, 0x00, 0x22, 0x00, 0x22, 0x00, 0x5D, 0x00], .syntax),
            ("i_string_utf16BE_no_BOM", [0x00, 0x5B, 0x00, 0x22, 0x00, 0x22, 0x00, 0x5D], .syntax),
            ("i_string_utf16LE_no_BOM", [0x5B, 0x00, 0x22, 0x00, 0x22, 0x00, 0x5D, 0x00], .syntax),
            ("i_structure_UTF-8_BOM_empty_object", [0xEF, 0xBB, 0xBF, 0x7B, 0x7D], .syntax),
            (
                "i_structure_500_nested_arrays",
                Array((String(repeating: "[", count: 500) + String(repeating: "]", count: 500)).utf8), .tooDeep
            ),
            ("i_number_huge_exp", Array("[0.4e00669999999999999999999999999999]".utf8), .numberOutOfRange),
        ]
        for (name, bytes, code) in cases {
            let error = #expect(throws: JSONParsingError.self, "\(name)") { try JSONValue.parse(bytes) }
            #expect(error?.code == code, "\(name)")
        }
    }

    @Test(
        "Repeated keys are refused, which RFC 8259 only advises against",
        arguments: [
            ("y_object_duplicated_key", "{\"a\":\"b\",\"a\":\"c\"}"),
            ("y_object_duplicated_key_and_value", "{\"a\":\"b\",\"a\":\"b\"}"),
        ]
    )
    func repeatedKeys(name: String, document: String) throws {
        let error = #expect(throws: JSONParsingError.self, "\(name)") { try JSONValue(parsing: document) }
        #expect(error?.code == .duplicateKey, "\(name)")
    }
}
