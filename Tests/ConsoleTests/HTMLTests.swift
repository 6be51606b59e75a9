import Testing

@testable import Console

@Suite("HTML of the console")
struct HTMLTests {
    @Test("Interpolated text is escaped, in text and in attributes")
    func escapes() {
        let hostile = "<script>alert(1)</script>\"'&"
        let html: HTML = "<a title=\"\(hostile)\">\(hostile)</a>"
        #expect(
            html.text == """
                <a title="&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;">\
                &lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;</a>
                """
        )
    }

    @Test("Addresses encode their values, and take back only addresses of the console")
    func addresses() {
        let address = Address("/console/activities", ["app": "a&b", "q": nil, "x": "ä \"/"])
        #expect(address.text == "/console/activities?app=a%26b&x=%C3%A4%20%22%2F")
        #expect(Address(returningTo: "/console?app=x") != nil)
        for hostile in [
            "//evil.example", "https://evil.example", "/consoles", "/console/\r\nX: y", "javascript:alert(1)",
            "/console/\\evil", "",
        ] {
            #expect(Address(returningTo: hostile) == nil, "\(hostile)")
        }
    }
}
