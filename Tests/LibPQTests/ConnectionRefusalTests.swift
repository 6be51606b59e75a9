import Testing

@testable import LibPQ

@Suite("What a server says that refuses a connection")
struct ConnectionRefusalTests {
    private static let place = "connection to server at \"::1\", port 5432 failed:"

    @Test("The SQLSTATE is read, also after a word of another language, and what is for programmers is left out")
    func refused() {
        let words = "password authentication failed for user \"ada\""
        for severity in ["FATAL:", "SCHWERWIEGEND:"] {
            let refusal = ConnectionRefusal(
                message: "\(Self.place) \(severity) 28P01: \(words) LOCATION: auth_failed, auth.c:326"
            )
            #expect(refusal.sqlState == "28P01")
            #expect(refusal.message == "\(Self.place) \(severity) \(words)")
        }
    }

    @Test(
        "Without an answer of a server there is none, and the message stays as it is",
        arguments: [
            "\(place) Connection refused Is the server running on that host?", "\(place) FATAL: too old a server", "",
            "could not translate host name \"db\" to address: Name or service not known",
        ]
    )
    func away(message: String) {
        let refusal = ConnectionRefusal(message: message)
        #expect(refusal.sqlState == nil)
        #expect(refusal.message == message)
    }
}
