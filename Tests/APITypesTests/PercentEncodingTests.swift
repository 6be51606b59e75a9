import Testing

@testable import APITypes

@Suite("Percent-encoding")
struct PercentEncodingTests {
    @Test(
        "Text is decoded",
        arguments: [("abc", "abc"), ("a%3ab", "a:b"), ("%C3%A4", "ä"), ("100%25", "100%"), ("", "")]
    )
    func decodes(encoded: String, text: String) {
        #expect(PercentEncoding.decode(encoded) == text)
    }

    @Test("Of a form, a plus is a blank")
    func form() {
        #expect(PercentEncoding.decode("a+b%2Bc", isForm: true) == "a b+c")
        #expect(PercentEncoding.decode("a+b") == "a+b")
    }

    @Test("All but unreserved characters are encoded, and come back")
    func encodes() {
        #expect(PercentEncoding.encode("a-Z_0.~ /%ä\n") == "a-Z_0.~%20%2F%25%C3%A4%0A")
        #expect(PercentEncoding.decode(PercentEncoding.encode("a b/c+d")) == "a b/c+d")
    }

    @Test("What is not percent-encoded UTF-8 is refused", arguments: ["%", "%4", "%4g", "%FF", "a%C3b"])
    func refuses(encoded: String) {
        #expect(PercentEncoding.decode(encoded) == nil)
    }
}
