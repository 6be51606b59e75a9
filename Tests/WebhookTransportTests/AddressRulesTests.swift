import Reactor
import Testing

@testable import WebhookTransport

@Suite("Addresses that webhooks may reach")
struct AddressRulesTests {
    private func allows(_ text: String, _ rules: AddressRules = AddressRules(), isSecure: Bool = true) throws -> Bool {
        rules.allows(try #require(SocketAddress(numeric: text, port: 443)), isSecure: isSecure)
    }

    @Test(
        "An internal or special address is refused, however it is written",
        arguments: [
            "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
            "224.0.0.1", "240.0.0.1", "255.255.255.255",
            "0x7f.1", "0177.0.0.1", "2130706433", "127.1", "0", "10.1", "0xa9fea9fe",
            "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1",
            "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
        ]
    )
    func refused(_ address: String) throws {
        #expect(try !allows(address))
    }

    @Test(
        "A public address is allowed, and only with TLS",
        arguments: [
            "1.1.1.1", "100.63.255.255", "172.15.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700::1111",
            "::ffff:1.1.1.1", "64:ff9b::1.1.1.1",
        ]
    )
    func allowed(_ address: String) throws {
        #expect(try allows(address))
        #expect(try !allows(address, isSecure: false))
    }

    @Test("What the operator allows is allowed, also without TLS, and its neighbours are not")
    func exceptions() throws {
        let blocks = try ["10.1.0.0/16", "127.0.0.1", "fd00::/12"].map { try #require(AddressBlock($0)) }
        let rules = AddressRules(allowed: blocks)
        for address in ["10.1.2.3", "127.0.0.1", "::ffff:10.1.2.3", "fd0f::1"] {
            #expect(try allows(address, rules, isSecure: false))
        }
        for address in ["10.2.0.1", "127.0.0.2", "fd10::1", "::1"] { #expect(try !allows(address, rules)) }
    }

    @Test(
        "A block is an address and a number of bits",
        arguments: ["", "10.0.0.0/33", "::/129", "10.1/8", "a/8", "1.1.1.1/-1", "1.1.1.1/8/8"]
    )
    func noBlock(_ text: String) {
        #expect(AddressBlock(text) == nil)
    }

    @Test(
        "A URL that webhooks may not have is refused before anything is looked up",
        arguments: [
            "http://hooks.example.com", "ftp://hooks.example.com", "https://", "https://u:p@hooks.example.com",
            "https://hooks.example.com/#part", "https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
            "https://0x7f.1/", "https://2130706433/", "https://hooks.example.com:0/", "https://a%0d%0aX:1/",
            "https://[fe80::1%25eth0]/", "hooks.example.com",
        ]
    )
    func refusedURL(_ url: String) throws {
        #expect(try WebhookTransport(rules: AddressRules()).refusal(of: url) != nil)
    }

    @Test(
        "Other URLs are accepted",
        arguments: ["https://hooks.example.com", "https://hooks.example.com:8443/a/b?c=d", "https://1.1.1.1/"]
    )
    func acceptedURL(_ url: String) throws {
        #expect(try WebhookTransport(rules: AddressRules()).refusal(of: url) == nil)
    }
}
