import APNSTransport
import ActivityModel
import HTTP2TestSupport
import Logging
import Metrics
import MetricsTestKit
import Testing

/// A client in front of a scripted server, and what tests ask of them.
struct ClientWorld: Sendable {
    let client: APNSClient
    let server: ScriptedServer
    let metrics: TestMetrics

    /// Runs `body` and ends both afterwards.
    static func run(
        maximumConcurrentStreams: Int = 1000,
        caFile: String = TestCertificate.caFile,
        configuration: APNSClientConfiguration = .quick,
        providerTokens: any ProviderTokenStore = LocalProviderTokens { 1_763_700_000 },
        script: @escaping ScriptedServer.Script,
        _ body: (ClientWorld) async throws -> Void
    ) async throws {
        let server = try await ScriptedServer(maximumConcurrentStreams: maximumConcurrentStreams, script: script)
        let metrics = TestMetrics()
        let client = try APNSClient(
            endpoints: .all(at: server.endpoint),
            caFile: caFile,
            providerTokens: providerTokens,
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            metrics: metrics
        )
        let world = ClientWorld(client: client, server: server, metrics: metrics)
        do {
            try await body(world)
        } catch {
            await client.shutDown()
            try await server.stop()
            throw error
        }
        await client.shutDown()
        try await server.stop()
    }

    /// Sends a batch to `count` tokens, the number of each in its last digits.
    func send(_ count: Int, deadline: Duration = .seconds(50)) async throws -> BatchOutcome {
        await client.send(try Self.batch(count, deadline: deadline))
    }

    static func batch(_ count: Int, deadline: Duration = .seconds(50)) throws -> PushBatch {
        PushBatch(
            environment: .sandbox,
            identity: try testIdentity(),
            headers: PushHeaders(bundleID: try bundleID(), priority: .ten, expiration: 1_763_700_600),
            body: Array(#"{"aps":{}}"#.utf8),
            tokens: tokens(count),
            deadline: deadline
        )
    }

    static func bundleID() throws -> BundleID {
        try #require(BundleID("com.example.Scores"))
    }

    static func tokens(_ count: Int) -> TokenBuffer {
        var tokens = TokenBuffer()
        for index in 0..<count {
            tokens.append(bytes: (0..<4).map { UInt8(truncatingIfNeeded: index >> (24 - 8 * $0)) })
        }
        return tokens
    }

    /// How many requests of the test's app got this answer.
    func count(api: String, status: String, reason: String) -> Int64 {
        counter(
            "tally_apns_responses_total",
            [
                ("environment", "sandbox"), ("app", "com.example.Scores"), ("api", api), ("status", status),
                ("reason", reason),
            ]
        )
    }

    /// How many connections have ended for this cause.
    func ends(_ cause: String, reason: String = "") -> Int64 {
        counter(
            "tally_apns_connection_ends_total",
            [("environment", "sandbox"), ("cause", cause), ("reason", reason)]
        )
    }

    /// Returns when so many connections have ended for this cause; the test's time limit is the deadline.
    func end(of count: Int64, _ cause: String, reason: String = "") async throws {
        while ends(cause, reason: reason) < count {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private func counter(_ label: String, _ dimensions: [(String, String)]) -> Int64 {
        // An absent counter is one that was never increased.
        (try? metrics.expectCounter(label, dimensions).totalValue) ?? 0
    }
}

extension APNSClientConfiguration {
    /// Short waits between attempts, long ones for answers.
    static var quick: APNSClientConfiguration {
        var configuration = APNSClientConfiguration()
        configuration.http2 = BothSessions.implementation
        configuration.reconnectDelay = .milliseconds(5)
        configuration.refusalPause = .milliseconds(5)
        // A busy machine must not look like a slow server.
        configuration.firstAnswerPatience = .seconds(60)
        configuration.requestTimeout = .seconds(60)
        return configuration
    }
}

extension APNSEndpoints {
    /// All three APIs of both environments in one place.
    static func all(at endpoint: APNSEndpoint) -> APNSEndpoints {
        var endpoints = APNSEndpoints()
        for environment in APNSEnvironment.allCases {
            for api in APNSAPI.allCases {
                endpoints[environment, api] = endpoint
            }
        }
        return endpoints
    }
}

extension BatchOutcome {
    /// How many exceptions there are of each class, by its name.
    var classes: [String: Int] {
        exceptions.reduce(into: [:]) { $0[$1.outcome.class.name, default: 0] += 1 }
    }
}
