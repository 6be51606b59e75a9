import ActivityModel
import Foundation
import SystemSupport
import TestSupport
import Testing

/// Clients that others wrote, as they are: each asks twenty things, and needs one connection for them.
@Suite("HTTP clients of others")
struct ForeignClientTests {
    /// What each prints: of a round a request that anybody may make, two for the head and for the whole of an app, one
    /// that waits for `100 Continue`, one with a body so large that only its content is refused, and one that is refused
    /// by its head.
    private static let conversation: [String] = {
        let round = ["GET 200", "HEAD 200", "GET 200", "PUT 200", "POST 422", "POST 415"]
        return round + round + round + round.prefix(2)
    }()

    @Test("of Python", arguments: ["requests", "httpx", "aiohttp"])
    func python(client: String) async throws {
        try await Self.withRelay { _, url, relay in
            let script = Self.peer("http_clients.py")
            let output = try await Program.python().run([script, client, url] + Self.callerArguments)
            #expect(Self.lines(output) == Self.conversation, "\(output.text)")
            #expect(relay.accepted == 1)
        }
    }

    @Test("curl with --http2, which offers another protocol with each request")
    func curl() async throws {
        try await Self.withRelay { system, url, relay in
            let text = try await Shell.run(Self.curl(url), in: system.folder)
            #expect(text.split(separator: "\n").map(String.init) == Self.conversation, "\(text)")
            #expect(relay.accepted == 1)
        }
    }

    @Test("that of the JDK, which offers another protocol with each request", .enabled(if: Java.isWanted))
    func java() async throws {
        try await Self.withRelay { _, url, relay in
            let output = try await Java.run(Self.peer("HTTPClient.java"), [url] + Self.callerArguments)
            #expect(Self.lines(output) == Self.conversation, "\(output.text)")
            #expect(relay.accepted == 1)
        }
    }

    @Test("before the control API of the simulator")
    func simulator() async throws {
        try await TallySystem.with { system in
            let relay = try Self.relay(to: system.simulator.controlURL)
            defer { relay.close() }
            let url = "http://127.0.0.1:\(relay.port)"
            let text = try await Shell.run(
                "curl -sS -m 20 --http2 -o /dev/null -w '%{http_code}\\n' '\(url)/health?[1-20]'",
                in: system.folder
            )
            #expect(text.split(separator: "\n") == Array(repeating: "200", count: 20), "\(text)")
            #expect(relay.accepted == 1)
            guard Java.isWanted else { return }
            let output = try await Java.run(Self.peer("HTTPClient.java"), [url])
            #expect(Self.lines(output) == Array(repeating: "GET 200", count: 20), "\(output.text)")
            #expect(relay.accepted == 2)
        }
    }

    @Test("behind HAProxy, which gives a connection of one client to the next")
    func reusingProxy() async throws {
        try await TallySystem.with { system in
            let relay = try Self.relay(to: system.url)
            defer { relay.close() }
            let port = try await unusedPort()
            try Data(
                """
                defaults
                    mode http
                    timeout connect 5s
                    timeout client 20s
                    timeout server 20s
                frontend api
                    bind 127.0.0.1:\(port)
                    default_backend tally
                backend tally
                    http-reuse always
                    server tally 127.0.0.1:\(relay.port)

                """.utf8
            ).write(to: system.folder.url.appending(path: "haproxy.cfg"))
            let proxy = try Program("haproxy").start(["-db", "-f", system.folder.path("haproxy.cfg")])
            defer { proxy.kill() }
            let url = "http://127.0.0.1:\(port)"
            try await eventually("the proxy listens") {
                let status = "curl -sS -o /dev/null -w '%{http_code}' \(url)/health/live"
                return try await Shell.run(status, in: system.folder, stopsAtFailure: false) == "200"
            }
            // One client after the other, each on what the one before has left.
            for _ in 1...2 {
                let text = try await Shell.run(Self.curl(url), in: system.folder)
                #expect(text.split(separator: "\n").map(String.init) == Self.conversation, "\(text)")
                guard Java.isWanted else { continue }
                let output = try await Java.run(Self.peer("HTTPClient.java"), [url] + Self.callerArguments)
                #expect(Self.lines(output) == Self.conversation, "\(output.text)")
            }
        }
    }

    // MARK: What they are given

    /// Lends a system, and the address of its daemon behind a relay that counts connections.
    private static func withRelay(_ body: (TallySystem, String, Relay) async throws -> Void) async throws {
        try await TallySystem.with { system in
            let relay = try relay(to: system.url)
            defer { relay.close() }
            try await body(system, "http://127.0.0.1:\(relay.port)", relay)
        }
    }

    private static func relay(to url: String) throws -> Relay {
        guard let url = URL(string: url), let host = url.host(), let port = url.port.flatMap(UInt16.init(exactly:))
        else { throw Failure("\(url): no port") }
        return try Relay(to: .port(port, of: host))
    }

    private static let callerArguments = [TallySystem.adminKey, TallySystem.app.rawValue]

    private static func peer(_ name: String) -> String {
        URL(filePath: #filePath).appending(path: "../../../ForeignPeers/\(name)").standardized.path
    }

    /// What was printed, if the program ended well.
    private static func lines(_ output: Program.Output) -> [String] {
        output.status == 0 ? output.text.split(separator: "\n").map(String.init) : []
    }

    /// The conversation as one call of curl.
    private static func curl(_ url: String) -> String {
        let app = "\(url)/v1/apps/\(TallySystem.app.rawValue)"
        let validate = "--data-binary @large.json \(app)/types/GameAttributes/validate"
        let json = "-H 'Content-Type: application/json'"
        let device = #"{"environment": "production", "os_version": "18.1"}"#
        let round = [
            ("GET", "\(url)/health/live"), ("HEAD", "-I \(app)"), ("GET", app),
            ("PUT", "-X PUT \(json) -H 'Expect: 100-continue' -d '\(device)' \(app)/devices/foreign"),
            // Without the header that curl adds to a large body by itself: of others this is the only one that waits.
            ("POST", "\(json) -H 'Expect:' \(validate)"),
            ("POST", "-H 'Content-Type: text/plain' -d 'no JSON' \(app)/types/GameAttributes/validate"),
        ]
        let requests = (round + round + round + round.prefix(2)).map { method, arguments in
            "-sS -m 20 --http2 -o /dev/null -w '\(method) %{http_code}\\n'"
                + " -H 'Authorization: Bearer \(TallySystem.adminKey)' \(arguments)"
        }
        return """
            printf '{"content_state": {"text": "%s"}}' "$(head -c 900000 /dev/zero | tr '\\0' x)" > large.json
            curl \(requests.joined(separator: " --next "))
            """
    }
}

/// The JDK, where there is one.
private enum Java {
    /// `.ci/run` asks for these tests. Others run them where a JDK is installed.
    static let isWanted = isAsked || (try? Program("javac")) != nil  // it throws only where there is none

    private static let isAsked = ProcessInfo.processInfo.environment["TALLY_TEST_JAVA"] != nil

    static func run(_ file: String, _ arguments: [String]) async throws -> Program.Output {
        try await Program("java").run([file] + arguments)
    }
}
