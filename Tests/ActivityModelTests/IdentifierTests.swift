import ActivityModel
import Testing

@Suite("Identifiers")
struct IdentifierTests {
    @Test(
        "Caller's ids are 1 to 128 printable ASCII characters",
        arguments: [
            ("match-2022.final_1:ARG~FRA", true), ("a", true), (String(repeating: "x", count: 128), true),
            (String(repeating: "x", count: 129), false), ("", false), ("a b", true), ("a/b", true), ("é", false),
            ("auth0|7", true), ("ada@example.com", true), ("a%20b", true), ("a\n", false), ("a\u{7F}", false),
            // Clients and proxies take them for steps within a path.
            (".", false), ("..", false), ("...", true), (".a", true), ("a.", true),
        ]
    )
    func callerIDs(text: String, accepted: Bool) {
        #expect((ActivityID(text) != nil) == accepted)
        #expect((DeviceID(text) != nil) == accepted)
        #expect((UserID(text) != nil) == accepted)
        #expect(ActivityID(text)?.rawValue == (accepted ? text : nil))
    }

    @Test(
        "Bundle ids",
        arguments: [
            ("com.example.App-2", true), ("app", true), ("", false), (".com", false), ("com.", false),
            ("com.example/x", false), ("com_x", false),
            (String(repeating: "b", count: 155), true), (String(repeating: "b", count: 156), false),
        ]
    )
    func bundleIDs(text: String, accepted: Bool) {
        #expect((BundleID(text) != nil) == accepted)
    }

    @Test(
        "Teams and keys have ten capital letters and digits",
        arguments: [
            ("ABCDE12345", true), ("ABCDE1234", false), ("ABCDE123456", false), ("abcde12345", false),
            ("ABCDE-2345", false),
        ]
    )
    func tenCharacters(text: String, accepted: Bool) {
        #expect((TeamID(text) != nil) == accepted)
        #expect((KeyID(text) != nil) == accepted)
    }

    @Test(
        "Type names are Swift identifiers",
        arguments: [
            ("GameAttributes", true), ("_A1", true), ("1A", false), ("", false), ("A.B", false), ("A-B", false),
            ("Ä", false),
        ]
    )
    func typeNames(text: String, accepted: Bool) {
        #expect((ActivityTypeName(text) != nil) == accepted)
    }

    @Test(
        "Apple's channel ids are base64 of any length",
        arguments: [
            ("dHN0LXNyY2gtY2hubA==", true), ("a+/=_-", true), ("", false), ("a b", false),
            (String(repeating: "A", count: 257), false),
        ]
    )
    func channelIDs(text: String, accepted: Bool) {
        #expect((APNSChannelID(text) != nil) == accepted)
    }

    @Test("Tally's channel ids are UUIDs, kept in lower case")
    func uuids() {
        #expect(ChannelID("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")?.rawValue == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
        #expect(ChannelID("a0eebc999c0b4ef8bb6d6bb9bd380a11") == nil)
        #expect(ChannelID("g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11") == nil)
        #expect(ChannelID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1") == nil)
        #expect(ChannelID("a0eebc99-9c0b-4ef8-bb6d6-bb9bd380a11") == nil)
    }

    @Test("Our own names of requests are UUIDs in Apple's canonical form")
    func requestIDs() {
        #expect(
            APNSRequestID("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")?.rawValue == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
        )
        #expect(APNSRequestID("a0eebc999c0b4ef8bb6d6bb9bd380a11") == nil)
        #expect(APNSRequestID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1\n") == nil)
    }

    @Test("Tokens are hex of 2 to 512 digits, lower-cased, and never printed whole")
    func tokens() throws {
        let token = try #require(PushToken(hex: "00FFaB1234"))
        #expect(token.bytes == [0x00, 0xFF, 0xAB, 0x12, 0x34])
        #expect(token.hex == "00ffab1234")
        #expect(PushToken(bytes: token.bytes) == token)
        #expect("\(token)" == "00ff…")
        #expect(String(reflecting: token) == "00ff…")
        var dumped = ""
        dump(["token": token], to: &dumped)
        #expect(!dumped.contains("171"))
        for refused in ["", "a", "abc", "0g", "ａb", String(repeating: "0", count: 514)] {
            #expect(PushToken(hex: refused) == nil)
        }
        #expect(PushToken(hex: String(repeating: "0", count: 512)) != nil)
        #expect(PushToken(bytes: []) == nil)
        #expect(PushToken(bytes: Array(repeating: 1, count: 257)) == nil)
    }

    @Test(
        "Versions compare number by number",
        arguments: [
            ("17.2", "18", -1), ("18", "18.0", 0), ("18.0.1", "18", 1), ("9", "10", -1), ("17.10", "17.2", 1),
            ("0", "0.0", 0), ("01.2", "1.2", 0), ("2.0", "1.9.9", 1), ("2.4.0-beta.3", "2.4", 0),
            ("Version 18.1.1 (Build 22B91)", "18.1.1", 0), ("18.", "18", 0), ("nightly", "0.1", -1),
            ("1.99999999999999999999", "1.20261125123456", 1), ("1.2.3.4.5.6.7.8.9", "1.2.3.4.5.6.7.8", 1),
        ]
    )
    func versions(left: String, right: String, order: Int) throws {
        let (os, app) = (try #require(OSVersion(left)), try #require(AppVersion(left)))
        let (otherOS, otherApp) = (try #require(OSVersion(right)), try #require(AppVersion(right)))
        #expect((os < otherOS) == (order < 0))
        #expect((os > otherOS) == (order > 0))
        #expect((os == otherOS) == (order == 0))
        #expect((app < otherApp) == (order < 0))
        #expect((app == otherApp) == (order == 0))
        #expect(os.description == left)
        if order == 0 { #expect(os.hashValue == otherOS.hashValue) }
    }

    @Test(
        "Text that is no version is refused",
        arguments: ["", "18\n", "18é", String(repeating: "1", count: 129)]
    )
    func notVersions(text: String) {
        #expect(OSVersion(text) == nil)
        #expect(AppVersion(text) == nil)
    }
}
