import APNSTransport
import ActivityModel
import HTTP2Engine
import HTTP2TestSupport
import Logging
import MetricsTestKit
import Reactor
import ServiceLifecycle
import Testing

@Suite("Servers that cannot be reached", .timeLimit(.minutes(1)), .bothSessions)
struct ReachabilityTests {
    @Test("a certificate under a foreign authority is named, at once, and nothing is sent")
    func foreignAuthority() async throws {
        try await ClientWorld.run(caFile: TestCertificate.foreignCAFile, script: { _ in .ok }) { world async throws in
            let start = ContinuousClock.now
            let outcome = try await world.send(3, deadline: .seconds(30))
            #expect(start.duration(to: .now) < .seconds(15))
            #expect(outcome.classes == ["not_sent": 3])
            let detail = try #require(outcome.exceptions.first?.outcome.detail)
            #expect(detail.contains("certificate"), "\(detail)")
            #expect(world.server.received.isEmpty)
        }
    }

    @Test("a port that nobody listens on is tried until the deadline, then the batch is safe to send again")
    func nobodyListens() async throws {
        let endpoint = try await Self.deadEndpoint()
        let client = try Self.client(of: endpoint)
        let outcome = await client.send(try ClientWorld.batch(3, deadline: .seconds(2)))
        #expect(outcome.classes == ["not_sent": 3])
        let detail = try #require(outcome.exceptions.first?.outcome.detail)
        #expect(detail.contains("no connection"), "\(detail)")
        await client.shutDown()
    }

    @Test("who cannot wait for the next attempt learns at once that there is no connection")
    func hopeless() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.reconnectDelay = .seconds(7200)
        configuration.maximumReconnectDelay = .seconds(7200)
        let client = try Self.client(of: try await Self.deadEndpoint(), configuration)
        // The first tries, those after it find the pause; the time limit of the tests is shorter than any deadline
        // here.
        for _ in 1...3 {
            let outcome = await client.send(try ClientWorld.batch(3, deadline: .seconds(600)))
            #expect(outcome.classes == ["not_sent": 3])
            let detail = try #require(outcome.exceptions.first?.outcome.detail)
            #expect(detail.contains("no connection"), "\(detail)")
        }
        await client.shutDown()
    }

    @Test("the pause outlasts the looks at what is idle: a server that is away is not called again at once")
    func pauseIsKept() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.reconnectDelay = .seconds(7200)
        configuration.maximumReconnectDelay = .seconds(7200)
        configuration.idleTimeout = .milliseconds(20)
        configuration.lastConnectionIdleTimeout = .milliseconds(20)
        let server = try await ScriptedServer { _ in .ok }
        var endpoints = APNSEndpoints.all(at: server.endpoint)
        endpoints[.production, .device] = try await Self.deadEndpoint()
        let metrics = TestMetrics()
        let client = try APNSClient(
            endpoints: endpoints,
            caFile: TestCertificate.caFile,
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            metrics: metrics
        )
        var batch = try ClientWorld.batch(1, deadline: .seconds(600))
        for round in 1...3 {
            batch.environment = .production
            #expect(await client.send(batch).classes == ["not_sent": 1])
            batch.environment = .sandbox
            #expect(await client.send(batch).accepted == 1)
            // The look that ends this one has been at the other pool as well.
            await server.end(of: round)
        }
        let ends = try metrics.expectCounter(
            "tally_apns_connection_ends_total",
            [("environment", "production"), ("cause", "lost"), ("reason", "")]
        )
        #expect(ends.totalValue == 1)
        await client.shutDown()
        try await server.stop()
    }

    @Test("a server that takes the connection and says nothing is none, and the outcome says so")
    func silentServer() async throws {
        let loop = try EventLoop(name: "silent")
        let address = try #require(SocketAddress(numeric: "127.0.0.1", port: 0))
        let listener = try await loop.perform {
            Result {
                var taken: [Socket] = []
                return LoopBound(try Listener(loop: loop, address: address) { taken.append($0) }, to: loop)
            }
        }.get()
        let port = try await loop.perform { listener.value.address.port }
        let client = try Self.client(of: APNSEndpoint(host: "localhost", port: port))
        let outcome = await client.send(try ClientWorld.batch(3, deadline: .seconds(1)))
        #expect(outcome.classes == ["not_sent": 3])
        #expect(outcome.exceptions.first?.outcome.detail == "no connection before the deadline")
        await client.shutDown()
        try await loop.perform { listener.value.close() }
        await loop.shutDown()
    }

    @Test("a server that comes up before the deadline still gets the batch")
    func comesUp() async throws {
        let endpoint = try await Self.deadEndpoint()
        let client = try Self.client(of: endpoint)
        let sending = Task { await client.send(try ClientWorld.batch(3)) }
        let server = try await ScriptedServer(port: endpoint.port) { _ in .ok }
        #expect(try await sending.value.accepted == 3)
        await client.shutDown()
        try await server.stop()
    }

    @Test("a trial connection reaches a server that speaks HTTP/2 under a trusted certificate, and asks it for nothing")
    func trial() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            let outcome = await world.client.reach(.sandbox, .device, deadline: .seconds(50))
            guard case .reached(let time) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(time > .zero)
            #expect(world.server.received.isEmpty)
            #expect(try await world.send(1).accepted == 1)
        }
    }

    @Test("a trial says what is in the way: the certificate, or that nobody listens")
    func obstacles() async throws {
        try await ClientWorld.run(caFile: TestCertificate.foreignCAFile, script: { _ in .ok }) { world async throws in
            guard case .failed(.tls, let detail) = await world.client.reach(.sandbox, .device, deadline: .seconds(50))
            else {
                Issue.record("no failure of TLS")
                return
            }
            #expect(detail.contains("certificate"), "\(detail)")
        }
        let endpoint = try await Self.deadEndpoint()
        let client = try Self.client(of: endpoint)
        guard case .failed(.unreachable, _) = await client.reach(.production, .channels, deadline: .seconds(50)) else {
            Issue.record("reached although nobody listens")
            return
        }
        await client.shutDown()
        guard case .failed(.other, _) = await client.reach(.production, .channels, deadline: .seconds(50)) else {
            Issue.record("a client that is shut down connects")
            return
        }
    }

    @Test("a missing trust root is refused when the client is made")
    func missingCAFile() throws {
        let error = try #require(throws: APNSTransportError.self) {
            try APNSClient(caFile: "/nonexistent/ca.pem", logger: Logger(label: "test"))
        }
        #expect(error.code == .trust)
    }

    @Test("a senseless configuration is refused by the name of what is wrong")
    func badConfiguration() throws {
        var configuration = APNSClientConfiguration()
        configuration.maximumConnections = 0
        let error = try #require(throws: APNSTransportError.self) {
            try APNSClient(configuration: configuration, logger: Logger(label: "test"))
        }
        #expect(error.description == "maximumConnections is not from 1 to 64")
    }

    @Test("graceful shutdown lets what is under way end")
    func gracefulShutdown() async throws {
        let server = try await ScriptedServer { _ in .answerAfter(.milliseconds(50), status: 200) }
        let client = try Self.client(of: server.endpoint)
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: client)], logger: Logger(label: "test"))
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let sending = Task { await client.send(try ClientWorld.batch(20)) }
            await server.arrival(of: 1)
            await group.triggerGracefulShutdown()
            #expect(try await sending.value.accepted == 20)
            try await tasks.waitForAll()
        }
        #expect(await client.send(try ClientWorld.batch(1)).classes == ["not_sent": 1])
        try await server.stop()
    }

    @Test("a connection that gives no sign of life is dropped, and the next batch takes another")
    func frozen() async throws {
        var configuration = APNSClientConfiguration.oneConnection
        // A busy machine must not look like a server that is frozen.
        configuration.requestTimeout = .seconds(6)
        configuration.pingTimeout = .seconds(6)
        try await ClientWorld.run(
            maximumConcurrentStreams: 1,
            configuration: configuration,
            script: { request in
                request.number == 1 ? .freeze : .ok
            },
            { world async throws in
                let outcome = try await world.send(20)
                #expect(outcome.accepted == 19)
                #expect(outcome.classes == ["unknown": 1])
                #expect(outcome.exceptions.first?.index == 1)
                #expect(world.server.received.map(\.connection) == [1, 1] + Array(repeating: 2, count: 18))
            }
        )
    }

    @Test("a connection that nobody uses is closed, and another is made when it is needed")
    func idle() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.idleTimeout = .milliseconds(20)
        configuration.lastConnectionIdleTimeout = .milliseconds(20)
        try await ClientWorld.run(configuration: configuration, script: { _ in .ok }) { world async throws in
            #expect(try await world.send(5).accepted == 5)
            await world.server.end(of: 1)
            #expect(try await world.send(5).accepted == 5)
            #expect(world.server.received.last?.connection == 2)
        }
    }

    @Test("a run that is cancelled gives up what is under way")
    func cancelledRun() async throws {
        let server = try await ScriptedServer { _ in .silence }
        let client = try Self.client(of: server.endpoint)
        let running = Task { await client.run() }
        let sending = Task { await client.send(try ClientWorld.batch(3, deadline: .seconds(3600))) }
        await server.arrival(of: 1)
        running.cancel()
        #expect(try await sending.value.classes == ["unknown": 1, "not_sent": 2])
        await running.value
        try await server.stop()
    }

    private static func client(
        of endpoint: APNSEndpoint,
        _ configuration: APNSClientConfiguration = .quick
    ) throws -> APNSClient {
        try APNSClient(
            endpoints: .all(at: endpoint),
            caFile: TestCertificate.caFile,
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Where a server was, and nobody listens any more.
    private static func deadEndpoint() async throws -> APNSEndpoint {
        let server = try await ScriptedServer { _ in .ok }
        try await server.stop()
        return server.endpoint
    }
}
