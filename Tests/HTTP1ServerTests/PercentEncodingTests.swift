import Testing

@testable import HTTP1Server

@Suite("Percent-encoding")
struct PercentEncodingTests {
    @Test(
        "Text is decoded",
        arguments: [("abc", "abc"), ("a%3ab", "a:b"), ("%C3%A4", "ä"), ("100%25", "100%"), ("", "")]
    )
    func decodes(encoded: String, text: String) {
        #expect(PercentEncoding.decode(encoded) == text)
    }

    @Test("What is not percent-encoded UTF-8 is refused", arguments: ["%", "%4", "%4g", "%FF", "a%C3b"])
    func refuses(encoded: String) {
        #expect(PercentEncoding.decode(encoded) == nil)
    }
}
