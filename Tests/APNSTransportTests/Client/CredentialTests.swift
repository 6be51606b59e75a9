import APNSTransport
import ActivityModel
import HTTP2TestSupport
import Synchronization
import Testing

@Suite("Keys and provider tokens in use", .timeLimit(.minutes(1)), .bothSessions)
struct CredentialTests {
    @Test("a wrong key is found by one request; the rest of the batch does not leave")
    func invalidToken() async throws {
        try await ClientWorld.run(script: { _ in .refusal(403, "InvalidProviderToken") }) { world async throws in
            let outcome = try await world.send(300)
            #expect(world.server.received.count == 1)
            #expect(outcome.classes == ["credential": 300])
            #expect(outcome.exceptions.count { $0.outcome.status == 403 } == 1)
            #expect(outcome.exceptions.allSatisfy { $0.outcome.reason == "InvalidProviderToken" })
            #expect(outcome.rejected == 0)
        }
    }

    @Test(
        "both spellings of a key for the other environment mean the same",
        arguments: [
            "BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken",
        ]
    )
    func wrongEnvironment(reason: String) async throws {
        try await ClientWorld.run(script: { _ in .refusal(403, reason) }) { world async throws in
            #expect(try await world.send(3).classes == ["credential": 3])
        }
    }

    @Test("an expired token is replaced once and everything is sent again with the new one, on a new connection")
    func expiredToken() async throws {
        let clock = Mutex<Timestamp>(1_763_700_000)
        let tokens = Mutex<[String]>([])
        try await ClientWorld.run(
            providerTokens: LocalProviderTokens { clock.withLock(\.self) },
            script: { request in
                let token = request["authorization"] ?? ""
                return tokens.withLock { tokens in
                    if tokens.isEmpty { tokens.append(token) }
                    // The first token works until the clock has moved on.
                    let isOld = token == tokens[0]
                    return isOld && clock.withLock { $0 > 1_763_700_000 } ? .refusal(403, "ExpiredProviderToken") : .ok
                }
            },
            { world async throws in
                #expect(try await world.send(50).accepted == 50)
                clock.withLock { $0 += 30 * 60 }
                let before = world.server.received.count
                #expect(try await world.send(50).accepted == 50)
                let later = world.server.received.dropFirst(before)
                #expect(Set(later.compactMap { $0["authorization"] }).count == 2)
                #expect(later.contains { $0.connection == 2 })
            }
        )
    }

    @Test("a young token that is called expired is not replaced: a clock is wrong")
    func clockIsWrong() async throws {
        try await ClientWorld.run(script: { _ in .refusal(403, "ExpiredProviderToken") }) { world async throws in
            let outcome = try await world.send(20)
            #expect(outcome.classes == ["credential": 20])
            #expect(Set(world.server.received.compactMap { $0["authorization"] }).count == 1)
        }
    }

    @Test("a complaint about too many tokens keeps the token and is to be retried")
    func tooManyTokens() async throws {
        try await ClientWorld.run(script: { _ in .refusal(429, "TooManyProviderTokenUpdates") }) { world async throws in
            #expect(try await world.send(1).classes == ["retry": 1])
            #expect(try await world.send(1).classes == ["retry": 1])
            #expect(Set(world.server.received.compactMap { $0["authorization"] }).count == 1)
            #expect(Set(world.server.received.map(\.connection)).count == 1)
        }
    }

    @Test("a new token goes with what still waits, so that a connection sees one change only")
    func renewed() async throws {
        try await ClientWorld.run(
            maximumConcurrentStreams: 1,
            configuration: .oneConnection,
            providerTokens: AgeingTokens(),
            script: { _ in .answerAfter(.milliseconds(1), status: 200) },
            { world async throws in
                async let waiting = world.send(200)
                await world.server.arrival(of: 5)
                #expect(try await world.send(1).accepted == 1)
                #expect(try await waiting.accepted == 200)
                let tokens = world.server.received.compactMap { $0["authorization"] }
                #expect(zip(tokens, tokens.dropFirst()).count { $0 != $1 } == 1)
            }
        )
    }

    @Test("an app that an old connection does not know gets another one; a young connection stays")
    func newApp() async throws {
        for (youth, connections) in [(Duration.milliseconds(1), [1, 2]), (.seconds(300), [1, 1])] as [(_, [UInt64])] {
            var configuration = APNSClientConfiguration.quick
            configuration.youth = youth
            try await ClientWorld.run(
                configuration: configuration,
                script: { $0.connection == 1 ? .refusal(400, "TopicDisallowed") : .ok },
                { world async throws in
                    #expect(try await world.send(1).classes == ["credential": 1])
                    #expect(try await world.send(1).count == 1)
                    #expect(world.server.received.map(\.connection) == connections)
                }
            )
        }
    }

    @Test("two keys never share a connection, two batches of one key do")
    func poolsPerKey() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            #expect(try await world.send(1).accepted == 1)
            #expect(try await world.send(1).accepted == 1)
            var other = try ClientWorld.batch(1)
            other.identity = SigningIdentity(
                teamID: try #require(TeamID("TEAM999999")),
                keyID: other.identity.keyID,
                privateKey: other.identity.privateKey
            )
            #expect(await world.client.send(other).accepted == 1)
            var production = try ClientWorld.batch(1)
            production.environment = .production
            #expect(await world.client.send(production).accepted == 1)
            #expect(world.server.received.map(\.connection) == [1, 1, 2, 3])
        }
    }
}

/// The first token is nearly too old, so that the second request gets another.
private final class AgeingTokens: ProviderTokenStore {
    private let issued = Mutex(0)

    func token(for identity: SigningIdentity, replacing expired: ProviderToken?) throws -> IssuedProviderToken {
        let number = issued.withLock { issued in
            issued += 1
            return Int64(issued)
        }
        return IssuedProviderToken(try .sign(identity, at: 1_763_700_000 + number), age: number == 1 ? 50 * 60 : 0)
    }

    func tooManyTokens(for identity: SigningIdentity) {}
}
