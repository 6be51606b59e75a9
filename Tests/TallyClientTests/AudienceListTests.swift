import APITypes
import JSON
import Synchronization
import TallyClient
import Testing

/// A list of any length, out of an asynchronous sequence.
@Suite("A long audience, from a backend", .timeLimit(.minutes(1)))
struct AudienceListTests {
    private static func backend(_ server: ScriptedServer) throws -> TallyBackend {
        try TallyBackend(url: server.url, key: "secret", app: "com.example.pizza", deadline: .seconds(300))
    }

    private static func list(_ entries: [AudienceEntry], isComplete: Bool = true) -> AsyncStream<AudienceEntry> {
        AsyncStream { continuation in
            for entry in entries { continuation.yield(entry) }
            if isComplete { continuation.finish() }
        }
    }

    /// Entries, and then an error.
    private struct BrokenList: AsyncSequence, AsyncIteratorProtocol, Sendable {
        struct Gone: Error {}

        var left = 3

        func makeAsyncIterator() -> BrokenList { self }

        mutating func next() async throws -> AudienceEntry? {
            left -= 1
            guard left >= 0 else { throw Gone() }
            return .user("u\(left)")
        }
    }

    @Test("goes out as lines under the caller's key, and what was there before is told")
    func lines() async throws {
        let answer = #"{"devices":3,"unknown_users":1,"unknown_devices":0,"lines":9000,"pages":5,"skipped_lines":4000}"#
        let server = try ScriptedServer { _, _ in .answer(status: 202, body: answer) }
        defer { server.stop() }
        let users = (1...9_000).map { AudienceEntry.user("u\($0)") }
        let size = try await Self.backend(server)
            .addToAudience(of: "o-1", Self.list(users + [.device("d1")]), idempotencyKey: "fans")
        #expect(size.devices == 3 && size.unknownUsers == 1)
        #expect(size.skippedEntries == 4_000)
        let request = try #require(server.received.first)
        #expect(request.method == "POST")
        #expect(request.target == "/v1/apps/com.example.pizza/activities/o-1/audience")
        #expect(request.headers["content-type"] == "application/x-ndjson")
        #expect(request.headers["idempotency-key"] == "fans")
        let expected = (1...9_000).map { #"{"user_id":"u\#($0)"}"# + "\n" }.joined() + #"{"device_id":"d1"}"# + "\n"
        #expect(request.body == expected)
        #expect(server.received.count == 1)
    }

    @Test("A list that fails ends with its own error, and the server does not get it as a complete one")
    func broken() async throws {
        let server = try ScriptedServer { _, _ in .answer(status: 202, body: "{}") }
        defer { server.stop() }
        let backend = try Self.backend(server)
        await #expect(throws: BrokenList.Gone.self) { try await backend.addToAudience(of: "o-1", BrokenList()) }
        let wrong = await #expect(throws: TallyError.self) {
            try await backend.addToAudience(of: "o-1", Self.list([.user("u1"), .user("")]))
        }
        #expect(wrong?.code == "invalid_argument")
        #expect(server.received.isEmpty)
    }

    @Test("A refusal ends the call while the list still goes on, and is not tried again")
    func refused() async throws {
        let problem = Problem.activityEnded()
        let server = try ScriptedServer(readsStreams: false) { _, _ in
            .answer(status: problem.status, body: problem.json.text)
        }
        defer { server.stop() }
        let error = await #expect(throws: TallyError.self) {
            try await Self.backend(server).addToAudience(of: "o-1", Self.list([.user("u1")], isComplete: false))
        }
        #expect(error?.code == "activity_ended")
        #expect(server.received.count == 1)
    }

    @Test("A connection that breaks is an error that is worth another try, with the same list")
    func cut() async throws {
        let server = try ScriptedServer { _, _ in .hangUp }
        defer { server.stop() }
        let error = await #expect(throws: TallyError.self) {
            try await Self.backend(server).addToAudience(of: "o-1", Self.list([.user("u1")]), idempotencyKey: "fans")
        }
        #expect(error?.code == "unreachable")
        #expect(error?.isRetryable == true && error?.isUnknown == true)
        #expect(server.received.count == 1)
    }

    @Test("While the server is away, no entry is taken from the list")
    func away() async throws {
        let backend = try TallyBackend(
            url: "http://127.0.0.1:\(try ScriptedServer.closedPort())",
            key: "k",
            app: "com.example",
            deadline: .milliseconds(300)
        )
        let taken = Atomic(0)
        let list = Self.list([.user("u1")]).map { entry in
            taken.add(1, ordering: .relaxed)
            return entry
        }
        let error = await #expect(throws: TallyError.self) { try await backend.addToAudience(of: "o-1", list) }
        #expect(error?.code == "unreachable")
        #expect(taken.load(ordering: .relaxed) == 0)
    }
}
