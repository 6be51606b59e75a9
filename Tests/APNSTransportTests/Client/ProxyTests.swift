import APNSTransport
import ActivityModel
import Logging
import Testing

@Suite("A proxy on the way to APNs", .timeLimit(.minutes(1)))
struct ProxyTests {
    @Test(
        "pushes go through the tunnel, to the host that APNs has, under its certificate",
        arguments: ["", "tally:p%40ss@"]
    )
    func joins(credentials: String) async throws {
        try await Self.withProxy(.joins, credentials: credentials) { client, proxy, server async throws in
            #expect(try await client.send(ClientWorld.batch(50)).accepted == 50)
            guard case .reached = await client.reach(.sandbox, .device, deadline: .seconds(50)) else {
                Issue.record("the trial does not take the proxy")
                return
            }
            let target = "localhost:\(server.endpoint.port)"
            // The user and the password are one text in base64: tally:p@ss.
            let authorization = credentials.isEmpty ? "" : "Proxy-Authorization: Basic dGFsbHk6cEBzcw==\r\n"
            let request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(authorization)\r\n"
            #expect(proxy.requests == [request, request])
        }
    }

    @Test(
        "what a proxy does wrong is said, without its own words and without the credentials",
        arguments: [
            (.says("HTTP/1.1 403 no secret for you\r\n\r\n"), "refused with 403"),
            (
                .says("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"),
                "refused with 407: its credentials are missing or wrong"
            ),
            (.says("HTTP/1.0 502\n\n"), "refused with 502"),
            (.says("SSH-2.0-OpenSSH_9.2\r\n\r\n"), "sent no answer in HTTP"),
            (.saysAndWaits(String(repeating: "x", count: 20_000)), "sent no answer in HTTP"),
            (.saysAndWaits("HTTP/1.1 200 OK\r\n\r\nand more"), "sent more than an answer"),
            (.closes, "closed the connection"),
            (.says("HTTP/1.1 200 OK\r\nVia: half"), "closed the connection"),
        ] as [(ConnectProxy.Conduct, String)]
    )
    func refuses(conduct: ConnectProxy.Conduct, words: String) async throws {
        try await Self.withProxy(conduct, credentials: "tally:secret@") { client, proxy, server async throws in
            let outcome = await client.reach(.sandbox, .device, deadline: .seconds(50))
            guard case .failed(.unreachable, let detail) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(detail == "HTTP/2 unreachable: the proxy 127.0.0.1:\(proxy.port) \(words)")
            #expect(server.received.isEmpty)
        }
    }

    @Test("a proxy that hangs is given up at the deadline, and nothing is sent")
    func hangs() async throws {
        try await Self.withProxy(.saysAndWaits("HTTP/1.1 200"), credentials: "") { client, _, server async throws in
            guard case .failed(.timedOut, _) = await client.reach(.sandbox, .device, deadline: .seconds(1)) else {
                Issue.record("the trial did not end at its deadline")
                return
            }
            let outcome = await client.send(try ClientWorld.batch(3, deadline: .seconds(1)))
            #expect(outcome.classes == ["not_sent": 3])
            #expect(server.received.isEmpty)
        }
    }

    @Test("a tunnel that closes during the handshake is tried again until the deadline")
    func closesMidway() async throws {
        try await Self.withProxy(.closesMidway, credentials: "") { client, proxy, server async throws in
            let outcome = await client.send(try ClientWorld.batch(3, deadline: .seconds(2)))
            #expect(outcome.classes == ["not_sent": 3])
            #expect(proxy.requests.count > 1)
            #expect(server.received.isEmpty)
        }
    }

    @Test("a proxy that nobody listens for is named")
    func nobodyListens() async throws {
        let proxy = try await ConnectProxy(serverPort: 1, .closes)
        try await proxy.stop()
        var configuration = APNSClientConfiguration.quick
        configuration.proxy = try APNSProxy(url: "http://tally:secret@127.0.0.1:\(proxy.port)", name: "X")
        let client = try Self.client(of: APNSEndpoint(host: "localhost", port: 1), configuration)
        let outcome = await client.reach(.sandbox, .device, deadline: .seconds(50))
        guard case .failed(.unreachable, let detail) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(detail.contains("the proxy 127.0.0.1:\(proxy.port)"), "\(detail)")
        #expect(!detail.contains("secret"))
        await client.shutDown()
    }

    @Test(
        "the URL of a proxy is read, and shown without its credentials",
        arguments: [
            ("http://proxy.example.com:3128", "proxy.example.com:3128"),
            ("HTTP://user:secret@Proxy.example.com:3128/", "proxy.example.com:3128"),
            ("http://user:a@secret@[::1]:8080", "[::1]:8080"),
        ]
    )
    func read(url: String, description: String) throws {
        let proxy = try APNSProxy(url: url, name: "X")
        #expect("\(proxy)" == description)
    }

    @Test(
        "any other URL is refused, without a part of it",
        arguments: [
            ("https://secret:secret@proxy:3128", "the URL must begin with http://"),
            ("secret:3128", "the URL must begin with http://"), ("http://secret", "the URL has no port"),
            ("http://user:secret@", "the URL has no host"),
            ("http://secret:3128/path", "the URL must be a host and a port only"),
            (
                "http://secret@proxy:3128",
                "the credentials must be user:password, with special characters in the form %40"
            ),
            (
                "http://u:secret%4@proxy:3128",
                "the credentials must be user:password, with special characters in the form %40"
            ),
            ("http://proxy:secret", "the port is not a number from 1 to 65535"),
        ]
    )
    func refused(url: String, reason: String) {
        let error = #expect(throws: APNSTransportError.self) { try APNSProxy(url: url, name: "X") }
        #expect(error?.description == "X: \(reason)")
    }

    /// A client whose every connection goes through the proxy, before a server that answers 200.
    private static func withProxy(
        _ conduct: ConnectProxy.Conduct,
        credentials: String,
        _ body: (APNSClient, ConnectProxy, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer { _ in .ok }
        let proxy = try await ConnectProxy(serverPort: server.endpoint.port, conduct)
        var configuration = APNSClientConfiguration.quick
        configuration.proxy = try APNSProxy(url: "http://\(credentials)127.0.0.1:\(proxy.port)", name: "X")
        let client = try client(of: server.endpoint, configuration)
        do {
            try await body(client, proxy, server)
        } catch {
            Issue.record(error)
        }
        await client.shutDown()
        try await proxy.stop()
        try await server.stop()
    }

    private static func client(of endpoint: APNSEndpoint, _ configuration: APNSClientConfiguration) throws -> APNSClient
    {
        try APNSClient(
            endpoints: .all(at: endpoint),
            caFile: TestCertificate.caFile,
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}
