import JSON
import JSONSchema
import Testing

@Suite("Formats")
struct FormatTests {
    @Test(
        "Are checked on request",
        arguments: [
            ("date-time", "2026-11-21T16:00:00Z", true), ("date-time", "2026-11-21t16:00:00.123456789+05:30", true),
            ("date-time", "2026-11-21 16:00:00Z", false), ("date-time", "2026-11-21T16:00:00", false),
            ("date-time", "2016-12-31T23:59:60Z", true), ("date-time", "2016-12-31T22:59:60Z", false),
            ("date-time", "2017-01-01T00:59:60+01:00", true), ("date", "2024-02-29", true),
            ("date", "2023-02-29", false),
            ("date", "2100-02-29", false), ("date", "2026-13-01", false), ("date", "2026-1-1", false),
            ("date", "2026-11-2\u{0967}", false), ("time", "16:00:00Z", true), ("time", "24:00:00Z", false),
            ("time", "16:00:00", false), ("uuid", "2EB8AA08-aa98-11ea-b4aa-73b441d16380", true),
            ("uuid", "2eb8aa08aa9811eab4aa73b441d16380", false),
            ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", false),
            ("uri", "https://user@example.com:8080/a%20b?q=1#f", true), ("uri", "urn:isbn:1", true),
            ("uri", "/relative", false), ("uri", "http://a b", false), ("uri", "http://[::1]:80/", true),
            ("uri", "http://[::1", false), ("uri", "http://a/%zz", false), ("uri", "", false),
            ("email", "joe.bloggs@example.com", true), ("email", "\"joe bloggs\"@example.com", true),
            ("email", "joe@[127.0.0.1]", true), ("email", "joe@[IPv6:::1]", true), ("email", ".joe@example.com", false),
            ("email", "joe..b@example.com", false), ("email", "joe", false), ("email", "joe@-a.com", false),
            ("ipv4", "192.168.0.1", true), ("ipv4", "256.1.1.1", false), ("ipv4", "1.2.3", false),
            ("ipv4", "01.2.3.4", false), ("ipv6", "::", true), ("ipv6", "1:2:3:4:5:6:7:8", true),
            ("ipv6", "::ffff:192.0.2.1", true), ("ipv6", "1::2::3", false), ("ipv6", "12345::", false),
            ("ipv6", "1:2:3:4:5:6:7", false), ("ipv6", "fe80::1%eth0", false), ("ipv6", "1.2.3.4::", false),
            ("ipv6", "", false), ("ipv6", ":", false), ("ipv6", ":::", false), ("ipv6", "::1:2:3:4:5:6:7:8", false),
            ("regex", "^a(?=b)$", true), ("regex", "^(a$", false), ("hostname", "not checked", true),
        ]
    )
    func asserted(format: String, text: String, holds: Bool) throws {
        var options = SchemaOptions()
        options.formats = .assert
        let document: JSONValue = ["format": .string(format)]
        #expect(try CompiledSchema(document, options: options).isValid(.string(text)) == holds)
        #expect(try CompiledSchema(document, options: options).isValid(1))
        #expect(try CompiledSchema(document).isValid(.string(text)))
    }

    @Test("Are named in words when they do not hold")
    func phrase() throws {
        var options = SchemaOptions()
        options.formats = .assert
        let schema = try CompiledSchema(["properties": ["a": ["format": "ipv4"]]], options: options)
        #expect(schema.validate(["a": "x"]).map(\.line) == ["/a: \"x\" is not an IPv4 address"])
    }
}
