import APITypes
import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Channels
@testable import Orchestrator
@testable import Store

/// Requests for channels, made by hand, that Apple does not answer for a while.
@Suite("Requests for channels while Apple is silent", .timeLimit(.minutes(2)))
struct SilentAppleTests {
    private func key(_ text: String) -> IdempotencyKey {
        IdempotencyKey(
            apiKeyID: "k",
            app: BundleID(stored: "com.example.app"),
            method: "POST",
            path: "/channels",
            key: text,
            bodyHash: [1]
        )
    }

    @Test("A request without a key holds no connection: changes are accepted over the only one")
    func withoutKey() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start()
            let gate = world.recorder.close()
            defer { world.recorder.open() }
            let making = (1...3).map { _ in
                Task { try await world.orchestrator.createChannel(world.app, ChannelRequest()) }
            }
            await gate.arrivals()
            #expect(try await world.update(score: 1).revision == 2)
            await gate.arrivals(3)
            world.recorder.open()
            for made in making { #expect(try await made.value.answer.state == .ready) }
        }
    }

    @Test("Requests with keys leave connections to the others: one that comes above is told to come again")
    func withKeys() async throws {
        try await withWorld(connections: 2) { world in
            func make(_ name: String?) async throws -> ChannelResource {
                try await world.orchestrator.createChannel(
                    world.app,
                    ChannelRequest(),
                    idempotency: name.map { key($0) }
                ).answer
            }
            try await world.start()
            let known = try await make("known")
            let gate = world.recorder.close()
            let first = Task { try await make("first") }
            await gate.arrivals()
            // The next one that asks ends the silence.
            let ending = Task {
                await gate.arrivals(2)
                world.recorder.open()
            }
            let second = try await problem { _ = try await make("second") }
            #expect(second?.code == "unavailable")
            #expect(second?.retryAfter == 1)
            #expect(world.recorder.createdChannels == 2)
            #expect(try await problem { _ = try await make("first") }?.code == "idempotency_in_progress")
            #expect(try await make("known") == known)
            #expect(try await world.update(score: 1).revision == 2)
            _ = try await make(nil)
            await ending.value
            let made = try await first.value
            #expect(try await make("first") == made)
            _ = try await make("second")
            #expect(world.recorder.createdChannels == 4)
        }
    }

    /// Asks for a channel while the database fails as soon as Apple has made one.
    private func make(_ world: World, isKeyed: Bool, failing error: PostgresError) async throws {
        let gate = StatementGate { (_) async throws(PostgresError) in
            if world.recorder.createdChannels > 0 { throw error }
        }
        _ = try await world.sibling(behind: gate).orchestrator.createChannel(
            world.app,
            ChannelRequest(),
            idempotency: isKeyed ? key("a") : nil
        )
    }

    @Test(
        "A channel that Apple has made and that is surely not stored is given back",
        arguments: [
            (isKeyed: false, error: PostgresError(.poolExhausted)),
            (isKeyed: true, error: PostgresError(.server, sqlState: "57014")),
        ]
    )
    func givenBack(isKeyed: Bool, error: PostgresError) async throws {
        try await withWorld { world in
            let thrown = await #expect(throws: PostgresError.self) {
                try await make(world, isKeyed: isKeyed, failing: error)
            }
            #expect(thrown?.code == error.code)
            #expect(world.recorder.deletedChannels.map(\.rawValue) == ["channel1"])
            #expect(world.recorder.channels.isEmpty)
        }
    }

    @Test(
        "Where a channel may be left at Apple, the answer does not say that nothing was carried out",
        arguments: [
            (error: PostgresError(.poolExhausted), isDeleted: false),
            (error: PostgresError(.connectionLost), isDeleted: true),
        ]
    )
    func notStored(error: PostgresError, isDeleted: Bool) async throws {
        try await withWorld { world in
            if !isDeleted { world.recorder.answerDeletion(with: .failed(.unavailable)) }
            let answer = try await problem { try await make(world, isKeyed: false, failing: error) }
            #expect(answer?.code == "outcome_unknown")
            #expect(answer?.detail.contains("channel1") == true)
            #expect(world.recorder.channels == ["channel1"])
            #expect(try await world.number("SELECT count(*) FROM channels") == 0)
        }
    }

    @Test("Where Apple did not say whether it made a channel, an error of the database does not hide that")
    func unknown() async throws {
        try await withWorld { world in
            world.recorder.answerCreation(with: .failed(.noAnswer))
            let identity = try await world.orchestrator.store.signing.identity(of: world.app, .production)
            let room = world.orchestrator.channelRoom
            let answer = try await problem {
                try await room.makeChannel(world.app, .production, .none, signing: identity) { ask in
                    _ = await ask()
                    throw PostgresError(.server, sqlState: "57014")
                }
            }
            #expect(answer?.code == "outcome_unknown")
        }
    }

    @Test(
        "A quarter of the connections may be held, and one of a few",
        arguments: [(2, 1), (7, 1), (16, 4), (500, 125)]
    )
    func share(poolSize: Int, limit: Int) async throws {
        let held = HeldConnections(of: poolSize)
        func hold(_ count: Int) async throws {
            guard count > 0 else { return }
            try await held.holding { try await hold(count - 1) }
        }
        try await hold(limit)
        #expect(try await problem { try await hold(limit + 1) }?.status == 503)
        // What was held is given back, whatever came of it.
        try await hold(limit)
    }
}
