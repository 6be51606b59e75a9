import Cryptography
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test(
        "texts of RFC 4648 §10 go both ways",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func standard(text: String, encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(text.utf8))
        let bare = String(encoded.prefix { $0 != "=" })
        #expect(Base64URL.encode(Array(text.utf8)) == bare)
        #expect(Base64URL.decode(bare) == Array(text.utf8))
    }

    @Test("the two alphabets differ in two characters")
    func alphabets() {
        #expect(Base64.encode([0xfb, 0xff, 0xbf]) == "+/+/")
        #expect(Base64URL.encode([0xfb, 0xff, 0xbf]) == "-_-_")
        #expect(Base64.decode("-_-_") == nil)
        #expect(Base64URL.decode("+/+/") == nil)
    }

    @Test("every byte string of every length up to 70 comes back")
    func roundTrip() {
        for count in 0...70 {
            let original = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64.decode(Base64.encode(original)) == original)
            #expect(Base64URL.decode(Base64URL.encode(original)) == original)
        }
    }

    @Test(
        "what is not canonical is refused",
        arguments: [
            "Z", "Zg", "Zg=", "Zm8", "Zh==", "Zm9=", "Z===", "====", "Zm9v=", "Zm 9", "Zm9v\n", "=Zm9", "Zg==Zg==",
        ]
    )
    func refused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("base64url refuses padding and lone characters", arguments: ["Zg==", "Z", "Zh", "Zm9vY"])
    func refusedURL(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
