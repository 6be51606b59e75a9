import APNSTransport
import ActivityModel
import HTTP2Engine
import HTTP2TestSupport
import Testing

@Suite("The life of connections", .timeLimit(.minutes(1)), .bothSessions)
struct ConnectionTests {
    @Test("a server that answers once and then ends the connection is not called without a pause")
    func shortLives() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.reconnectDelay = .seconds(7200)
        configuration.maximumReconnectDelay = .seconds(7200)
        try await ClientWorld.run(
            configuration: configuration,
            script: { _ in .answerAndClose },
            { world async throws in
                // What cannot wait for the end of the pause learns at once.
                let outcome = try await world.send(10_000, deadline: .seconds(600))
                #expect(outcome.accepted > 0)
                #expect(outcome.exceptions.contains { $0.outcome.class == .notSent })
                #expect(world.server.received.map(\.connection).max() == 1)
            }
        )
    }

    @Test("a server that refuses every stream is asked ever less often, and the batch is safe to send again")
    func everythingRefused() async throws {
        var configuration = APNSClientConfiguration.oneConnection
        configuration.refusalPause = .milliseconds(50)
        try await ClientWorld.run(
            configuration: configuration,
            script: { $0.number == 0 ? .ok : .reset(.refusedStream) },
            { world async throws in
                #expect(try await world.send(1).accepted == 1)
                let outcome = try await world.send(1, deadline: .seconds(1))
                #expect(outcome.classes == ["not_sent": 1])
                // Pauses of 50, 100, 200, 400 and 800 ms.
                #expect(world.server.received.count <= 1 + 5)
            }
        )
    }

    @Test("a connection that refused eight streams in a row is replaced")
    func refusalsInARow() async throws {
        var configuration = APNSClientConfiguration.oneConnection
        configuration.refusalPause = .milliseconds(1)
        try await ClientWorld.run(
            configuration: configuration,
            script: { $0.connection == 1 && $0.number > 0 ? .reset(.refusedStream) : .ok },
            { world async throws in
                #expect(try await world.send(1).accepted == 1)
                #expect(try await world.send(1).accepted == 1)
                #expect(world.server.received.map(\.connection) == Array(repeating: 1, count: 9) + [2])
                #expect(world.ends("refusals") == 1)
            }
        )
    }

    @Test("the server's limit is followed down to one")
    func limitOfOne() async throws {
        try await ClientWorld.run(
            maximumConcurrentStreams: 8,
            configuration: .oneConnection,
            script: { _ in .answerAfter(.milliseconds(1), status: 200) },
            { world async throws in
                #expect(try await world.send(100).accepted == 100)
                #expect(world.server.received.map(\.open).max() == 8)
                try await world.server.onConnections { $0.setMaximumConcurrentStreams(1) }
                // Its answer comes after the new limit.
                #expect(try await world.send(1).accepted == 1)
                let before = world.server.received.count
                #expect(try await world.send(50).accepted == 50)
                #expect(world.server.received.dropFirst(before).map(\.open).max() == 1)
                #expect(world.server.received.map(\.connection).max() == 1)
            }
        )
    }

    @Test("at a limit of zero requests wait in the queue, and leave when it rises again")
    func limitOfZero() async throws {
        try await ClientWorld.run(
            maximumConcurrentStreams: 8,
            configuration: .oneConnection,
            script: { _ in .ok },
            { world async throws in
                #expect(try await world.send(10).accepted == 10)
                try await world.server.onConnections { $0.setMaximumConcurrentStreams(0) }
                // Whether this one leaves or waits depends on what arrives first.
                _ = try await world.send(1, deadline: .seconds(1))
                let before = world.server.received.count
                let held = try await world.send(5, deadline: .milliseconds(200))
                #expect(held.classes == ["not_sent": 5])
                #expect(held.exceptions.first?.outcome.detail == "no free stream before the deadline")
                #expect(world.server.received.count == before)
                let sending = Task { try await world.send(20) }
                try await world.server.onConnections { $0.setMaximumConcurrentStreams(3) }
                #expect(try await sending.value.accepted == 20)
                #expect(world.server.received.map(\.connection).max() == 1)
            }
        )
    }

    @Test("a connection whose limit is zero does not keep the work: another one is opened")
    func limitOfZeroElsewhere() async throws {
        try await ClientWorld.run(
            maximumConcurrentStreams: 8,
            script: { _ in .ok },
            { world async throws in
                #expect(try await world.send(1).accepted == 1)
                try await world.server.onConnections { $0.setMaximumConcurrentStreams(0) }
                #expect(try await world.send(1).accepted == 1)
                #expect(try await world.send(20).accepted == 20)
                #expect(world.server.received.last?.connection == 2)
            }
        )
    }

    @Test(
        "what a GOAWAY says is counted, in words that cannot multiply",
        arguments: [
            (#"{"reason":"Shutdown"}"#, "Shutdown"), (#"{"reason":"Whatever"}"#, "other"), ("busy", "other"), ("", ""),
        ]
    )
    func goAwayReason(debugData: String, label: String) async throws {
        try await ClientWorld.run(
            script: { $0.connection == 1 ? .goAwayBefore(.enhanceYourCalm, debugData: debugData) : .ok },
            { world async throws in
                #expect(try await world.send(3).accepted == 3)
                #expect(world.ends("goaway", reason: label) == 1)
            }
        )
    }

    @Test("a push that a GOAWAY leaves without an answer is unknown, and its outcome says why")
    func goAwayOutcome() async throws {
        try await ClientWorld.run(
            script: { _ in .goAwayWithout(.enhanceYourCalm, debugData: #"{"reason":"TooManyRequests"}"#) },
            { world async throws in
                let sending = Task { try await world.send(1) }
                try await world.end(of: 1, "goaway", reason: "TooManyRequests")
                try await world.server.onConnections { $0.drop() }
                let outcome = try #require(try await sending.value.exceptions.first?.outcome)
                #expect(outcome.class == .unknown)
                #expect(outcome.detail == "the connection was lost after GOAWAY ENHANCE_YOUR_CALM TooManyRequests")
            }
        )
    }

    @Test("what waits when a server sends everybody away learns the reason")
    func goAwayForAll() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.reconnectDelay = .seconds(7200)
        configuration.maximumReconnectDelay = .seconds(7200)
        try await ClientWorld.run(
            configuration: configuration,
            script: { _ in .goAwayBefore(.noError, debugData: "maintenance\u{7}") },
            { world async throws in
                let outcome = try await world.send(2, deadline: .seconds(600))
                #expect(outcome.classes == ["not_sent": 2])
                #expect(outcome.exceptions.first?.outcome.detail == "no connection: GOAWAY NO_ERROR maintenance")
            }
        )
    }

    @Test("a connection that has carried all the requests it may is replaced, without a pause and without a loss")
    func exhausted() async throws {
        var configuration = APNSClientConfiguration.oneConnection
        configuration.maximumRequestsPerConnection = 10
        configuration.reconnectDelay = .seconds(3600)
        configuration.maximumReconnectDelay = .seconds(3600)
        try await ClientWorld.run(configuration: configuration, script: { _ in .ok }) { world async throws in
            #expect(try await world.send(35).accepted == 35)
            let numbers = world.server.received.map(\.connection)
            #expect((1...4).map { number in numbers.count { $0 == number } } == [10, 10, 10, 5])
            #expect(world.ends("exhausted") == 3)
        }
    }

    @Test("an idle connection that does not answer a ping is replaced before it costs a push")
    func idlePing() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.pingInterval = .milliseconds(20)
        // A busy machine must not look like a dead server.
        configuration.pingTimeout = .seconds(6)
        try await ClientWorld.run(configuration: configuration, script: { _ in .ok }) { world async throws in
            #expect(try await world.send(5).accepted == 5)
            try await world.server.onConnections { $0.pauseReading() }
            try await world.end(of: 1, "lost")
            #expect(try await world.send(5).accepted == 5)
            #expect(world.server.received.last?.connection != 1)
        }
    }

    @Test("connections beyond the first are given back when they are idle")
    func shrinking() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.maximumConnections = 4
        configuration.idleTimeout = .milliseconds(50)
        try await ClientWorld.run(
            maximumConcurrentStreams: 5,
            configuration: configuration,
            script: { _ in .answerAfter(.milliseconds(5), status: 200) },
            { world async throws in
                #expect(try await world.send(400).accepted == 400)
                let most = try #require(world.server.received.map(\.connection).max())
                try await world.end(of: Int64(most) - 1, "idle")
                #expect(try await world.send(1).accepted == 1)
                #expect(world.ends("idle") == Int64(most) - 1)
                #expect(world.server.received.last?.connection ?? 0 <= most)
            }
        )
    }

    @Test("connections of a key that its app has replaced end soon, those of the new key stay")
    func replacedKey() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.abandonedIdleTimeout = .milliseconds(20)
        try await ClientWorld.run(configuration: configuration, script: { _ in .ok }) { world async throws in
            #expect(try await world.send(1).accepted == 1)
            var batch = try ClientWorld.batch(1)
            batch.identity = SigningIdentity(
                teamID: batch.identity.teamID,
                keyID: try #require(KeyID("NEWKEY0001")),
                privateKey: batch.identity.privateKey
            )
            #expect(await world.client.send(batch).accepted == 1)
            await world.server.end(of: 1)
            #expect(await world.client.send(batch).accepted == 1)
            #expect(world.server.received.map(\.connection) == [1, 2, 2])
            #expect(world.ends("idle") == 1)
        }
    }

    @Test("a request may take ten seconds, in the queue and on its way, unless it is said otherwise")
    func deadlines() throws {
        let batch = try ClientWorld.batch(1)
        let plain = PushBatch(
            environment: batch.environment,
            identity: batch.identity,
            headers: batch.headers,
            body: batch.body,
            tokens: batch.tokens
        )
        #expect(plain.deadline == .seconds(10))
        #expect(APNSClientConfiguration().requestTimeout == .seconds(10))
        #expect(APNSClient.channelDeadline == .seconds(10))
    }
}
