import HTTP2Engine
import Testing

@Suite("Header fields")
struct HeaderTests {
    @Test(
        "fields that HTTP/2 does not allow are refused before anything is sent",
        arguments: [
            HTTP2Header("apns-topic", "a\r\nb: c"), HTTP2Header("apns-topic", "a\nb"),
            HTTP2Header("apns-topic", "a\0b"),
            HTTP2Header("apns-topic", "\u{7f}"), HTTP2Header("apns-topic", " a"), HTTP2Header("apns-topic", "a\t"),
            HTTP2Header("Apns-Topic", "a"), HTTP2Header("", "a"), HTTP2Header("a b", "a"), HTTP2Header("a:b", "a"),
            HTTP2Header(":path", "/"), HTTP2Header("connection", "close"), HTTP2Header("transfer-encoding", "chunked"),
        ]
    )
    func refused(field: HTTP2Header) {
        let error = #expect(throws: HTTP2Error.self) {
            try SharedHeaders(authority: "localhost", fields: [HTTP2Header("fine", "yes"), field])
        }
        #expect(error?.code == .invalidRequest)
    }

    @Test(
        "values may be empty, have inner blanks and characters beyond ASCII",
        arguments: ["", "a b\tc", "größe", "x=\"y\""]
    )
    func allowed(value: String) throws {
        _ = try SharedHeaders(authority: "localhost:443", fields: [HTTP2Header("x-field_1.a", value)])
    }

    @Test(
        "authority, method and path prefix must be visible ASCII",
        arguments: [
            ("", "POST", "/"), ("a b", "POST", "/"), ("host", "PO\nST", "/"), ("host", "POST", "/\r"),
            ("host", "", "/"),
        ]
    )
    func pseudoHeaders(authority: String, method: String, prefix: String) {
        #expect(throws: HTTP2Error.self) {
            try SharedHeaders(method: method, authority: authority, pathPrefix: prefix, fields: [])
        }
    }

    @Test("an error never quotes a value")
    func noValues() {
        let error = #expect(throws: HTTP2Error.self) {
            try SharedHeaders(authority: "a", fields: [HTTP2Header("authorization", "bearer secret\n")])
        }
        #expect(error.map { "\($0)".contains("secret") } == false)
        #expect(error.map { "\($0)".contains("authorization") } == true)
    }

    @Test("error codes have their names, and unknown ones their numbers")
    func codes() {
        #expect(HTTP2ErrorCode.refusedStream.description == "REFUSED_STREAM")
        #expect(HTTP2ErrorCode.http11Required.description == "HTTP_1_1_REQUIRED")
        #expect(HTTP2ErrorCode(rawValue: 0xff).description == "0xff")
    }
}
