import Testing

@testable import HTTPAPI

@Suite("The Date of answers")
struct DateHeaderTests {
    @Test(
        "It is written as RFC 9110 §5.6.7 has it",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
            (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
        ]
    )
    func text(second: Int, text: String) {
        #expect(DateHeader.text(second) == text)
    }
}
