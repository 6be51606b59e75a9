import APNSTransport
import ActivityModel
import Testing

@Suite("Endpoints")
struct APNSEndpointTests {
    @Test(
        "Apple's own hosts are the default",
        arguments: [
            (.production, .device, "https://api.push.apple.com:443"),
            (.sandbox, .device, "https://api.sandbox.push.apple.com:443"),
            (.production, .broadcast, "https://api.push.apple.com:443"),
            (.sandbox, .broadcast, "https://api.sandbox.push.apple.com:443"),
            (.production, .channels, "https://api-manage-broadcast.push.apple.com:2196"),
            (.sandbox, .channels, "https://api-manage-broadcast.sandbox.push.apple.com:2195"),
        ] as [(APNSEnvironment, APNSAPI, String)]
    )
    func defaults(environment: APNSEnvironment, api: APNSAPI, expected: String) {
        #expect(APNSEndpoints()[environment, api].description == expected)
    }

    @Test("each endpoint can be replaced and leaves the others alone")
    func replaced() throws {
        var endpoints = APNSEndpoints()
        try endpoints.setURL("https://127.0.0.1:8443", environment: .sandbox, api: .device, name: "X")
        #expect(endpoints[.sandbox, .device] == APNSEndpoint(host: "127.0.0.1", port: 8443))
        #expect(endpoints[.sandbox, .broadcast] == APNSEndpoints()[.sandbox, .broadcast])
        #expect(endpoints[.production, .device] == APNSEndpoints()[.production, .device])
    }

    @Test("all six can be set apart, on Apple's alternative port as well")
    func alternativePort() throws {
        var endpoints = APNSEndpoints()
        var expected: [String] = []
        for environment in APNSEnvironment.allCases {
            for api in APNSAPI.allCases {
                let host = "\(environment).\(api).push.apple.com:2197"
                try endpoints.setURL("https://\(host)", environment: environment, api: api, name: "X")
                expected.append(host)
            }
        }
        let authorities = APNSEnvironment.allCases.flatMap { environment in
            APNSAPI.allCases.map { endpoints[environment, $0].authority }
        }
        #expect(authorities == expected)
    }

    @Test(
        "URLs are read",
        arguments: [
            ("https://localhost", "localhost", 443, "localhost"),
            ("https://localhost/", "localhost", 443, "localhost"),
            ("HTTPS://API.Push.Apple.com:2197", "api.push.apple.com", 2197, "api.push.apple.com:2197"),
            ("https://[::1]:9443", "::1", 9443, "[::1]:9443"),
            ("https://[::1]", "::1", 443, "[::1]"),
        ] as [(String, String, UInt16, String)]
    )
    func read(url: String, host: String, port: UInt16, authority: String) throws {
        let endpoint = try APNSEndpoint(url: url, name: "X")
        #expect(endpoint == APNSEndpoint(host: host, port: port))
        #expect(endpoint.authority == authority)
    }

    @Test(
        "a bad URL is refused by the name of its setting",
        arguments: [
            ("", "the URL must begin with https://"),
            ("http://localhost:80", "the URL must begin with https://"),
            ("localhost:443", "the URL must begin with https://"),
            ("https://", "the URL has no host"),
            ("https://:443", "the URL has no host"),
            ("https://localhost:", "the port is not a number from 1 to 65535"),
            ("https://localhost:0", "the port is not a number from 1 to 65535"),
            ("https://localhost:65536", "the port is not a number from 1 to 65535"),
            ("https://localhost:+443", "the port is not a number from 1 to 65535"),
            ("https://localhost:-1", "the port is not a number from 1 to 65535"),
            ("https://localhost:443:443", "the port is not a number from 1 to 65535"),
            ("https://localhost:x", "the port is not a number from 1 to 65535"),
            ("https://localhost/3/device", "the URL must be a host and a port only"),
            ("https://localhost//", "the URL must be a host and a port only"),
            ("https://localhost#x", "the URL must be a host and a port only"),
            ("https://localhost?x", "the URL must be a host and a port only"),
            ("https://user:secret@localhost", "the URL must not carry credentials"),
            ("https://[::1", "the address has no closing bracket"),
            ("https://[::1]x", "the URL must be a host and a port only"),
            ("https://local\n", "the host has characters that no host has"),
            ("https://b\u{fc}ro", "the host has characters that no host has"),
            ("https://[]", "the URL has no host"),
            ("https://lo cal", "the host has characters that no host has"),
        ]
    )
    func refused(url: String, reason: String) throws {
        let error = try #require(throws: APNSTransportError.self) {
            try APNSEndpoint(url: url, name: "TALLY_APNS_SANDBOX_DEVICE_URL")
        }
        #expect(error.code == .invalidEndpoint)
        #expect(error.description == "TALLY_APNS_SANDBOX_DEVICE_URL: \(reason)")
    }
}
