import APNSTransport
import ActivityModel
import Cryptography
import Logging
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator
@testable import Store

@Suite("Provider tokens of several daemons", .timeLimit(.minutes(2)))
struct SharedProviderTokenTests {
    private let identity: SigningIdentity

    init() throws {
        identity = SigningIdentity(
            teamID: try #require(TeamID("TEAM123456")),
            keyID: try #require(KeyID("ABC123DEFG")),
            privateKey: try .generate()
        )
    }

    private func daemon(_ world: World, masterKeys: MasterKeys? = nil) -> SharedProviderTokens {
        SharedProviderTokens(
            database: world.database,
            masterKeys: masterKeys ?? world.orchestrator.masterKeys,
            logger: world.orchestrator.logger
        )
    }

    private func pass(_ world: World, minutes: Int64) async throws {
        _ = try await world.database.execute(
            """
            UPDATE provider_tokens SET issued_at = issued_at - \(Duration.seconds(60 * minutes)),
                kept_until = kept_until - \(Duration.seconds(60 * minutes))
            """
        )
    }

    private func token(_ daemon: SharedProviderTokens, replacing expired: ProviderToken? = nil) async throws -> String {
        try await daemon.token(for: identity, replacing: expired).token.text
    }

    @Test("Daemons that ask at the same moment send with one token, the first and every later one")
    func one() async throws {
        try await withWorld { world in
            let daemons = [daemon(world), daemon(world)]
            var seen: [Set<String>] = []
            for _ in 1...3 {
                let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                    for n in 0..<20 {
                        group.addTask { try await token(daemons[n % 2]) }
                    }
                    return try await group.reduce(into: Set<String>()) { $0.insert($1) }
                }
                seen.append(tokens)
                try await pass(world, minutes: 50)
            }
            #expect(seen.map(\.count) == [1, 1, 1])
            #expect(Set(seen).count == 3)
        }
    }

    @Test("A token is replaced after 50 minutes, for all daemons at once, and its age goes with it")
    func refresh() async throws {
        try await withWorld { world in
            let first = try await token(daemon(world))
            try await pass(world, minutes: 49)
            let aged = try await daemon(world).token(for: identity, replacing: nil)
            #expect(aged.token.text == first)
            #expect((49 * 60...49 * 60 + 59).contains(aged.age))
            try await pass(world, minutes: 1)
            let second = try await token(daemon(world))
            #expect(second != first)
            #expect(try await token(daemon(world)) == second)
        }
    }

    @Test("A token that Apple calls expired is replaced once, and not before it is 20 minutes old")
    func expired() async throws {
        try await withWorld { world in
            let first = try await daemon(world).token(for: identity, replacing: nil).token
            #expect(try await token(daemon(world), replacing: first) == first.text)
            try await pass(world, minutes: 20)
            let aged = try await daemon(world).token(for: identity, replacing: nil).token
            let second = try await token(daemon(world), replacing: aged)
            #expect(second != first.text)
            #expect(
                try await token(daemon(world), replacing: aged) == second,
                "the other daemon was told a moment later"
            )
        }
    }

    @Test("A complaint about too many tokens keeps the present one, for all daemons")
    func tooMany() async throws {
        try await withWorld { world in
            let first = try await token(daemon(world))
            try await pass(world, minutes: 45)
            try await daemon(world).tooManyTokens(for: identity)
            try await pass(world, minutes: 10)
            #expect(try await token(daemon(world)) == first)
            try await pass(world, minutes: 6)
            #expect(try await token(daemon(world)) != first)
        }
    }

    @Test("Another key under the same id signs a token of its own")
    func otherKey() async throws {
        try await withWorld { world in
            let first = try await token(daemon(world))
            let other = SigningIdentity(teamID: identity.teamID, keyID: identity.keyID, privateKey: try .generate())
            let second = try await daemon(world).token(for: other, replacing: nil).token.text
            #expect(second != first)
            #expect(try await token(daemon(world)) == first)
        }
    }

    @Test("What lies in the database opens for its master key alone, and is replaced where it does not open")
    func sealed() async throws {
        try await withWorld { world in
            let first = try await token(daemon(world))
            let stored = try #require(
                try await world.database.query("SELECT token_sealed FROM provider_tokens").first(as: [UInt8].self)
            )
            #expect(!String(decoding: stored, as: UTF8.self).contains(first.prefix(20)))
            let stranger = try await token(daemon(world, masterKeys: MasterKeys(.generate())))
            #expect(stranger != first)
        }
    }

    /// Another key of the same team.
    private var other: SigningIdentity {
        get throws {
            SigningIdentity(
                teamID: identity.teamID,
                keyID: try #require(KeyID("OTHERKEY12")),
                privateKey: identity.privateKey
            )
        }
    }

    @Test("Tokens of keys that are used no more are forgotten")
    func forgotten() async throws {
        try await withWorld { world in
            _ = try await token(daemon(world))
            try await pass(world, minutes: 25 * 60)
            let other = try other
            _ = try await daemon(world).token(for: other, replacing: nil)
            #expect(try await world.word("SELECT string_agg(key_id, ' ') FROM provider_tokens") == "OTHERKEY12")
        }
    }

    @Test("An old token that another daemon holds is not waited for")
    func held() async throws {
        try await withWorld { world in
            _ = try await token(daemon(world))
            try await pass(world, minutes: 25 * 60)
            let other = try other
            try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT 1 FROM provider_tokens FOR UPDATE")
                _ = try await daemon(world).token(for: other, replacing: nil)
            }
            #expect(try await world.number("SELECT count(*) FROM provider_tokens") == 2)
        }
    }
}
