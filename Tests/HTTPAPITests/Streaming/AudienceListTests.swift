import APITypes
import ActivityModel
import HTTPTypes
import Intake
import NIOCore
import Orchestrator
import OrchestratorTestSupport
import Postgres
import Registry
import Store
import Synchronization
import JSON
import Testing

@testable import HTTP1Server
@testable import HTTPAPI

/// Against the real service on a real database.
@Suite("A list of lines that is added to an audience", .timeLimit(.minutes(5)))
struct AudienceListTests {
    private static func users(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"user_id":"u\#($0)"}"# + "\n" }.joined()
    }

    private static func key(_ text: String = "k") -> IdempotencyKey {
        IdempotencyKey(
            apiKeyID: "k",
            app: BundleID(stored: "com.example.app"),
            method: "POST",
            path: "/audience",
            key: text,
            bodyHash: []
        )
    }

    private static let principal = Principal(keyID: "k", scopes: [.publish], app: nil)

    /// With `authenticateAgain`, the caller is looked up before each page.
    private static func give(
        _ body: any BodySource,
        to world: World,
        key: IdempotencyKey? = key(),
        authenticateAgain: (@Sendable () async throws -> Principal?)? = nil
    ) async throws -> Replayable<AudienceCounts> {
        let head = HTTPRequest(method: .post, scheme: "http", authority: "tally", path: "/audience")
        var stream = AudienceStream(
            service: world.orchestrator,
            app: world.app,
            activity: ActivityID(stored: "final"),
            key: key,
            principal: principal,
            terms: StreamTerms(authenticateAgain: authenticateAgain ?? { principal }),
            incoming: HTTPCall(head: head, source: body),
            turns: ReadingTurns(count: 1)
        )
        if authenticateAgain != nil { stream.authentication = .zero }
        return try await stream.add()
    }

    private static func send(
        _ body: any BodySource,
        to world: World,
        key: IdempotencyKey? = key(),
        authenticateAgain: (@Sendable () async throws -> Principal?)? = nil
    ) async throws -> AudienceCounts {
        try await give(body, to: world, key: key, authenticateAgain: authenticateAgain).answer
    }

    private static func send(
        _ body: String,
        to world: World,
        key: IdempotencyKey? = key()
    ) async throws -> AudienceCounts {
        try await send(PartedBody([body]), to: world, key: key)
    }

    private static func members(_ world: World) async throws -> Int64? {
        try await world.number("SELECT count(*) FROM audience_members")
    }

    /// How many transactions have added members.
    private static func transactions(_ world: World) async throws -> Int64? {
        try await world.number("SELECT count(DISTINCT xmin::text) FROM audience_members")
    }

    @Test("is stored in pages of 2,000, each in a transaction of its own, and answered with its length and its reach")
    func pages() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: Audience())
            let devices = (1...1_500).map { #"{"device_id":"d\#($0)"}"# }.joined(separator: "\n")
            let answer = try await Self.send(Self.users(1...3_000) + devices, to: world, key: nil)
            #expect(
                answer
                    == AudienceCounts(
                        devices: 1,
                        unknownUsers: 3_000,
                        unknownDevices: 1_499,
                        lines: 4_500,
                        pages: 3
                    )
            )
            #expect(try await Self.members(world) == 4_500)
            let largest: Query = """
                SELECT max(n) FROM (SELECT count(*) AS n FROM audience_members GROUP BY xmin::text) AS w
                """
            #expect(try await world.number(largest) == 2_000)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
        }
    }

    @Test("has a wrong line: the pages before it stay, and the corrected list goes on there with the same key")
    func wrongLine() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let body = Self.users(1...2_500)
            let problem = try await problem { _ = try await Self.send(body + "{\"user_id\":7}\n", to: world) }
            #expect(problem?.code == "invalid_request")
            #expect(problem?.errors.map(\.pointer.description) == ["/user_id"])
            #expect(problem?.extra["line"]?.int64 == 2_501)
            #expect(problem?.extra["stored_lines"]?.int64 == 2_000)
            #expect(problem?.detail.hasSuffix("The first 2000 members of the list are stored.") == true)
            #expect(try await Self.members(world) == 2_000)
            let answer = try await Self.send(body + "{\"user_id\":\"u7000\"}\n", to: world)
            #expect(answer.lines == 2_501)
            #expect(try await Self.members(world) == 2_501)
            #expect(try await Self.transactions(world) == 2)
        }
    }

    @Test("breaks off: sent again with the same key it goes on there, and nobody is started twice")
    func cut() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", user: "u1")
            try await world.start(to: Audience())
            await #expect(throws: BodyReadError.self) {
                _ = try await Self.send(PartedBody([Self.users(1...4_100)], isCut: true), to: world)
            }
            #expect(try await Self.members(world) == 4_000)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            let before = try await world.word("SELECT string_agg(DISTINCT xmin::text, ' ') FROM audience_members")
            let answer = try await Self.send(Self.users(1...4_500), to: world)
            var counts = AudienceCounts(devices: 1, unknownUsers: 4_499, lines: 4_500, pages: 3)
            counts.skippedLines = 4_000
            #expect(answer == counts)
            #expect(try await Self.transactions(world) == 3)
            #expect(
                try await world.word(
                    "SELECT string_agg(DISTINCT xmin::text, ' ') FROM audience_members WHERE member_key <= 4000"
                ) == before
            )
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("The key is revoked in the middle: 401, the pages before stay, and another try goes on behind them")
    func revoked() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let asked = Atomic(0)
            let body = Self.users(1...6_100)
            let problem = try await problem {
                _ = try await Self.send(PartedBody([body]), to: world) {
                    asked.add(1, ordering: .relaxed).newValue < 3 ? Self.principal : nil
                }
            }
            #expect(problem?.code == "unauthorized")
            #expect(problem?.extra["stored_lines"]?.int64 == 4_000)
            #expect(try await Self.members(world) == 4_000)
            let answer = try await Self.send(body, to: world)
            #expect(answer.lines == 6_100)
            #expect(answer.skippedLines == 4_000)
            #expect(try await Self.transactions(world) == 4)
        }
    }

    @Test("A complete list is answered as before, however many the audience reaches by now")
    func replay() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let body = Self.users(1...2_001)
            let first = try await Self.send(body, to: world)
            try await world.register("d1", token: "5a01", user: "u1")
            let second = try await Self.give(PartedBody([body]), to: world)
            var repeated = first
            repeated.skippedLines = 2_001
            #expect(first.skippedLines == nil)
            #expect(second.answer == repeated)
            #expect(second.isReplay)
            #expect(try await Self.transactions(world) == 2)
            #expect(try await Self.send(body, to: world, key: Self.key("other")).devices == 1)
            #expect(try await Self.members(world) == 2_001)
        }
    }

    @Test(
        "Another list with the same key is refused, and nothing of it is stored",
        arguments: [
            // In a page that is stored, longer, longer by a page, shorter, shorter by a page, empty.
            AudienceListTests.users(2...4_001), AudienceListTests.users(1...4_001), AudienceListTests.users(1...6_001),
            AudienceListTests.users(1...3_999), AudienceListTests.users(1...2_000), "",
        ]
    )
    func anotherList(body: String) async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            _ = try await Self.send(Self.users(1...4_000), to: world)
            let problem = try await problem { _ = try await Self.send(body, to: world) }
            #expect(problem?.code == "idempotency_key_reused")
            #expect(try await Self.members(world) == 4_000)
            #expect(try await Self.send(Self.users(1...4_000), to: world).lines == 4_000)
        }
    }

    @Test("A list and a request in JSON cannot have the same key")
    func otherForm() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            func change(_ key: IdempotencyKey) async throws {
                let request = AudienceRequest(add: World.devices("d1"))
                _ = try await world.orchestrator.intake.changeAudience(
                    world.app,
                    ActivityID(stored: "final"),
                    request,
                    idempotency: key
                )
            }
            try await change(Self.key("json"))
            let list = try await problem {
                _ = try await Self.send(Self.users(1...1), to: world, key: Self.key("json"))
            }
            #expect(list?.code == "idempotency_key_reused")
            _ = try await Self.send(Self.users(1...1), to: world)
            let json = try await problem { try await change(Self.key()) }
            #expect(json?.code == "idempotency_key_reused")
            #expect(try await Self.members(world) == 2)
        }
    }

    @Test("A list that ended where an earlier try had more lines is complete there")
    func shortened() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let problem = try await problem { _ = try await Self.send(Self.users(1...2_000) + "end\n", to: world) }
            #expect(problem?.extra["line"]?.int64 == 2_001)
            for _ in 1...2 {
                let answer = try await Self.send(Self.users(1...2_000), to: world)
                #expect(
                    answer == AudienceCounts(unknownUsers: 2_000, lines: 2_000, pages: 1, skippedLines: 2_000)
                )
            }
        }
    }

    @Test("Between two pages the activity is free: it is updated while the list waits for its next line")
    func freeBetweenPages() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let parts = [Self.users(1...2_001), Self.users(2_002...2_100)]
            let body = PartedBody(parts) { (part: Int) async throws in
                guard part == 1 else { return }
                #expect(try await Self.members(world) == 2_000)
                #expect(try await world.update(score: 1).revision == 2)
            }
            #expect(try await Self.send(body, to: world).lines == 2_100)
            #expect(body.progress == 1)
        }
    }

    @Test("Two streams with one key at the same time store the list once")
    func together() async throws {
        try await withWorld { world in
            try await world.start(to: Audience())
            let body = Self.users(1...4_100)
            async let first = Self.send(body, to: world)
            async let second = Self.send(body, to: world)
            let answers = try await [first, second]
            #expect(answers.map(\.lines) == [4_100, 4_100])
            #expect(try await Self.members(world) == 4_100)
            #expect(try await Self.transactions(world) == 3)
        }
    }

    @Test("An empty list adds nobody", arguments: ["", "\n", " \r\n\n"])
    func empty(body: String) async throws {
        try await withWorld { world in
            try await world.start(to: Audience(), alert: nil)
            for _ in 1...2 {
                #expect(try await Self.send(body, to: world) == AudienceCounts(lines: 0, pages: 0))
            }
            #expect(try await Self.members(world) == 0)
        }
    }

    @Test("A list for which there is no alert, or whose activity has ended, is refused with its first page")
    func refused() async throws {
        try await withWorld { world in
            try await world.start(to: Audience(), alert: nil)
            let silent = try await problem { _ = try await Self.send(Self.users(1...2_001), to: world) }
            #expect(silent?.code == "alert_required")
            #expect(silent?.extra["stored_lines"]?.int64 == 0)
            try await world.end()
            let ended = try await problem { _ = try await Self.send(Self.users(1...1), to: world) }
            #expect(ended?.code == "activity_ended")
            #expect(try await Self.members(world) == 0)
        }
    }
}

/// A body that comes in parts, and may break off behind them.
private final class PartedBody: BodySource {
    private struct State {
        var next = 0
        var progress = 0
    }

    private let parts: [String]
    private let isCut: Bool
    private let before: @Sendable (Int) async throws -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - parts: what arrives.
    ///   - isCut: whether the connection breaks behind that.
    ///   - before: runs before the part with this index arrives.
    init(_ parts: [String], isCut: Bool = false, before: @escaping @Sendable (Int) async throws -> Void = { _ in }) {
        self.parts = parts
        self.isCut = isCut
        self.before = before
    }

    /// How often the connection was told that the request makes progress.
    var progress: Int { state.withLock { $0.progress } }

    let client = ""

    func collect(upTo limit: Int) async throws -> ByteBuffer { throw BodyTooLarge(limit: limit) }

    func part(keeping most: Int) async throws -> ByteBuffer {
        let next = state.withLock { state in
            defer { state.next += 1 }
            return state.next
        }
        guard next < parts.count else {
            if isCut { throw ChannelError.inputClosed }
            return ByteBuffer()
        }
        try await before(next)
        return ByteBuffer(string: parts[next])
    }

    func arrived(keeping most: Int) async -> ByteBuffer { ByteBuffer() }

    func stopReading() { state.withLock { $0.next = parts.count } }
    func tellProgress() { state.withLock { $0.progress += 1 } }
    func proceed() async throws {}
    func hangUp() {}
}
