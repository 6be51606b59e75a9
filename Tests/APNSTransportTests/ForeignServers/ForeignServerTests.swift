import APNSTransport
import ActivityModel
import Cryptography
import HTTP2TestSupport
import Logging
import TestSupport
import Testing

@Suite("Servers that others made", .timeLimit(.minutes(1)), .bothSessions)
struct ForeignServerTests {
    private static let longestBody = Array((#"{"aps":{}}"# + String(repeating: " ", count: 4086)).utf8)

    @Test("python speaks with us in both versions of TLS", arguments: [("1.2", "TLSv1.2"), ("1.3", "TLSv1.3")])
    func handshake(version: String, name: String) async throws {
        try await PythonServer.run(["--tls", version]) { server async throws in
            try await withClient(server) { client async throws in
                #expect(await client.send(try ClientWorld.batch(200)).accepted == 200)
            }
            let report = try server.report()
            #expect(report.versions == Array(repeating: name, count: report.connections))
            #expect(report.requests == 200)
            #expect(report.violations == [])
        }
    }

    @Test("a server that does not choose HTTP/2 is refused in words", arguments: ["http/1.1", ""])
    func applicationProtocol(offered: String) async throws {
        try await PythonServer.run(["--alpn", offered]) { server async throws in
            try await withClient(server) { client async throws in
                let outcome = try #require(await client.send(try ClientWorld.batch(2)).exceptions.first?.outcome)
                #expect(outcome.class == .notSent)
                #expect(outcome.detail?.contains("h2") == true, "\(outcome)")
            }
            #expect(try server.report().requests == 0)
        }
    }

    @Test("a certificate for another host is refused, and nothing is sent")
    func wrongHostName() async throws {
        try await PythonServer.run(["--name", "api.push.example.com"]) { server async throws in
            try await withClient(server) { client async throws in
                let outcome = try #require(await client.send(try ClientWorld.batch(1)).exceptions.first?.outcome)
                #expect(outcome.class == .notSent)
                #expect(outcome.detail?.contains("certificate of localhost: hostname mismatch") == true, "\(outcome)")
            }
            #expect(try server.report().requests == 0)
        }
    }

    @Test("a certificate of an unknown authority is refused, and nothing is sent")
    func unknownAuthority() async throws {
        try await PythonServer.run { server async throws in
            try await withClient(at: server.endpoint, caFile: TestCertificate.foreignCAFile) { client async throws in
                let outcome = try #require(await client.send(try ClientWorld.batch(1)).exceptions.first?.outcome)
                #expect(outcome.class == .notSent)
                #expect(outcome.detail?.contains("certificate of localhost") == true, "\(outcome)")
            }
            #expect(try server.report().requests == 0)
        }
    }

    @Test("python's limit of streams is used in full and never passed, also when it changes")
    func streamLimit() async throws {
        // `h2` ends the connection of a client that opens one stream too many. How many streams a client gets open
        // before a limit falls is a matter of luck.
        for (first, later, most) in [(7, 7, 7...7), (1, 30, 30...30), (30, 2, 2...30)] {
            try await PythonServer.run(
                ["--limit", "\(first)", "--later-limit", "\(later)"],
                { server async throws in
                    try await withClient(server) { client async throws in
                        #expect(await client.send(try ClientWorld.batch(150)).accepted == 150)
                    }
                    let report = try server.report()
                    #expect(report.violations == [])
                    #expect(most.contains(report.most_open), "\(report.most_open)")
                    #expect(report.requests == 150)
                }
            )
        }
    }

    @Test("bodies arrive whole at a server that reads slowly and opens its window by what it has read")
    func slowReading() async throws {
        try await PythonServer.run(["--window", "100", "--read-size", "700"]) { server async throws in
            try await withClient(server) { client async throws in
                var batch = try ClientWorld.batch(60)
                batch.body = Self.longestBody
                #expect(await client.send(batch).accepted == 60)
            }
            let report = try server.report()
            let digest = SHA256.hash(Self.longestBody).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
            #expect(report.bodies == [digest.joined()])
            #expect(report.violations == [])
        }
    }

    @Test("an answer of three hundred kilobytes arrives whole")
    func largeAnswer() async throws {
        let ids = (0..<10_000).map { "dHN0LXNyY2gtY2hubA\(10_000 + $0)==" }
        let list = #"{"channels":["\#(ids.joined(separator: #"",""#))"]}"#
        try await PythonServer.run(answer: list) { server async throws in
            try await withClient(server) { client async throws in
                let outcome = await client.listChannels(
                    environment: .sandbox,
                    identity: try testIdentity(),
                    bundleID: try ClientWorld.bundleID()
                )
                #expect(outcome == .listed(ids.compactMap { APNSChannelID($0) }))
            }
        }
    }

    @Test("after python's GOAWAY the streams below its last are answered and the others are sent again")
    func goAway() async throws {
        try await PythonServer.run(["--goaway", "20", "--limit", "50"]) { server async throws in
            try await withClient(server) { client async throws in
                let outcome = await client.send(try ClientWorld.batch(300))
                #expect(outcome.accepted == 300, "\(outcome.exceptions.prefix(3))")
            }
            let report = try server.report()
            #expect(report.connections >= 2)
            #expect(report.requests >= 300)
            #expect(report.violations == [])
        }
    }

    @Test("nghttpd takes the largest bodies through small windows, seven at a time")
    func nghttpd() async throws {
        let port = try await unusedPort()
        let process = try Program("nghttpd").start([
            "--address=127.0.0.1", "--echo-upload", "--max-concurrent-streams=7", "--window-bits=10", "\(port)",
            TestCertificate.keyFile, TestCertificate.certificateFile,
        ])
        defer { process.kill() }
        // It does not tell when it listens: until then the client connects again and again.
        try await withClient(
            at: APNSEndpoint(host: "localhost", port: port),
            caFile: TestCertificate.caFile
        ) { client async throws in
            var batch = try ClientWorld.batch(2000)
            batch.body = Self.longestBody
            #expect(await client.send(batch).accepted == 2000)
        }
    }

    @Test("what nghttpd leaves unanswered when it is killed is unknown, and the next nghttpd gets the rest")
    func killed() async throws {
        let port = try await unusedPort()
        let arguments = [
            "--address=127.0.0.1", "--echo-upload", "--max-concurrent-streams=7", "\(port)",
            TestCertificate.keyFile, TestCertificate.certificateFile,
        ]
        let first = try Program("nghttpd").start(arguments)
        try await withClient(
            at: APNSEndpoint(host: "localhost", port: port),
            caFile: TestCertificate.caFile
        ) { client async throws in
            #expect(await client.send(try ClientWorld.batch(10)).accepted == 10)
            let sending = Task { await client.send(try ClientWorld.batch(5000)) }
            first.kill()
            let second = try Program("nghttpd").start(arguments)
            defer { second.kill() }
            let outcome = try await sending.value
            #expect(outcome.classes.keys.allSatisfy { $0 == "unknown" }, "\(outcome.classes)")
            // Four connections of seven streams at the most.
            #expect(outcome.exceptions.count <= 28)
        }
    }

    private func withClient(_ server: PythonServer, _ body: (APNSClient) async throws -> Void) async throws {
        try await withClient(at: server.endpoint, caFile: server.caFile, body)
    }

    private func withClient(
        at endpoint: APNSEndpoint,
        caFile: String,
        _ body: (APNSClient) async throws -> Void
    ) async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.maximumConnections = 4
        configuration.maximumReconnectDelay = .milliseconds(100)
        let client = try APNSClient(
            endpoints: .all(at: endpoint),
            caFile: caFile,
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        do {
            try await body(client)
        } catch {
            await client.shutDown()
            throw error
        }
        await client.shutDown()
    }
}
