import APITypes
import ActivityModel
import Foundation
import Glibc
import JSON
import Postgres
import SystemSupport
import TallyClient
import TestSupport
import Testing

@Suite("A long audience over HTTP", .timeLimit(.minutes(5)))
struct AudienceListTests {
    private static let id = OperatorStage.id

    private static func start(_ client: TallyClient) async throws {
        let request = StartRequest(
            type: TallySystem.type,
            attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
            contentState: OperatorStage.content(minute: 0),
            alert: AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
        )
        _ = try await client.start(TallySystem.app, id, request)
    }

    private static func lines(_ count: Int) -> [String] { (1...count).map { #"{"user_id":"u\#($0)"}"# } }

    /// All lines at once; then more may come, unless the list is complete.
    private static func stream(_ lines: [String], isComplete: Bool = true) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for line in lines { continuation.yield(Array(line.utf8)) }
            if isComplete { continuation.finish() }
        }
    }

    /// Sends a list that does not end, and interrupts it when two pages are stored.
    private static func interrupted(
        _ client: TallyClient,
        to system: TallySystem,
        by interrupt: () throws -> Void
    ) async throws -> ClientError? {
        let sending = Task {
            let list = stream(lines(5_900), isComplete: false)
            _ = try await client.addToAudience(TallySystem.app, id, lines: list, idempotencyKey: "list")
        }
        try await eventually("two pages are stored") { try await members(system) == 4_000 }
        try interrupt()
        return await #expect(throws: ClientError.self) { try await sending.value }
    }

    private static func members(_ system: TallySystem) async throws -> Int64? {
        try await system.database.query("SELECT count(*) FROM audience_members").first(as: Int64.self)
    }

    /// The same list again, with the same key, and with all that was missing.
    private static func expectTheRest(_ system: TallySystem) async throws {
        let counts = try await system.client()
            .addToAudience(TallySystem.app, id, lines: stream(lines(6_500)), idempotencyKey: "list")
        #expect(counts.lines == 6_500)
        #expect(counts.skippedLines == 4_000)
        #expect(counts.unknownUsers == 6_500)
        #expect(try await members(system) == 6_500)
    }

    @Test("ends in order on SIGTERM: the pages before are stored, and the next daemon takes the rest")
    func shutdown() async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            try await Self.start(client)
            let daemon = try system.daemon
            let error = try await Self.interrupted(client, to: system) { daemon.signal(SIGTERM) }
            #expect(error?.problem?.code == Problem.Code.unavailable)
            #expect(error?.problem?.extra["stored_lines"]?.int64 == 4_000)
            #expect(await daemon.end(within: .seconds(30)) == .exited(0), "\(daemon.errors)")
            try await system.startDaemon()
            try await Self.expectTheRest(system)
        }
    }

    @Test("breaks off with its connection: the pages before are stored, and the same list goes on behind them")
    func cut() async throws {
        try await TallySystem.with { system in
            try await Self.start(system.client())
            let url = try #require(URL(string: system.url))
            let host = try #require(url.host())
            let port = try #require(url.port.flatMap(UInt16.init(exactly:)))
            let relay = try Relay(to: .port(port, of: host))
            defer { relay.close() }
            let client = try system.client(url: "http://127.0.0.1:\(relay.port)")
            let error = try await Self.interrupted(client, to: system) { relay.cut() }
            #expect(error?.code == .unreachable)
            #expect(error?.isRetryable == true)
            #expect(try await Self.members(system) == 4_000)
            try await Self.expectTheRest(system)
        }
    }

    @Test("The command sends a file, names a wrong line, and says how much of a repeated file was there before")
    func command() async throws {
        try await TallySystem.with { system in
            try await Self.start(system.client())
            let stage = OperatorStage(system: system)
            let file = system.folder.path("fans.ndjson")
            func send(
                _ lines: [String],
                _ more: String...
            ) async throws -> (
                ending: RunningProgram.Ending, output: String, errors: String
            ) {
                try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
                return try await stage.tally(["activities", "audience", Self.id.rawValue, "--file", file] + more)
            }
            let wrong = try await send(Self.lines(2_500) + [#"{"user":"x"}"#])
            #expect(wrong.ending == .exited(1))
            #expect(wrong.errors.contains("Line 2501: "), "\(wrong.errors)")
            #expect(wrong.errors.contains("The first 2000 members of the list are stored."), "\(wrong.errors)")
            let hint = try #require(wrong.errors.firstMatch(of: #/--idempotency-key (\S+)/#))
            let right = try await send(Self.lines(2_501), "--idempotency-key", String(hint.output.1), "--json")
            let counts = try AudienceCounts(json: JSONValue(parsing: right.output))
            #expect(counts.lines == 2_501 && counts.skippedLines == 2_000, "\(right.output)")
            #expect(right.errors.isEmpty, "\(right.errors)")
            let none = try await stage.tally("activities", "audience", Self.id.rawValue, "--file", file + ".none")
            #expect(none.ending == .exited(64))
        }
    }
}
