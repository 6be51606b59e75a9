import APITypes
import ActivityModel
import Glibc
import JSON
import SystemSupport
import TallyClient
import TestSupport
import Testing

@Suite("A stream of changes over HTTP", .timeLimit(.minutes(5)))
struct IngestTests {
    private static let ids = (1...3).map { knownGood(ActivityID("stream-\($0)")) }

    private static func content(_ minute: Int) -> JSONObject {
        ["homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(minute)), "period": "firstHalf"]
    }

    private static func start(_ client: TallyClient) async throws {
        for id in ids {
            let request = StartRequest(
                type: TallySystem.type,
                attributes: ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"],
                contentState: content(0)
            )
            _ = try await client.start(TallySystem.app, id, request)
        }
    }

    /// Updates of the activities in turn, each with its key.
    private static func lines(_ count: Int) -> [[UInt8]] {
        (0..<count).map { number in
            let update = UpdateRequest(contentState: content(number + 1))
            return BatchOperation(.update(ids[number % ids.count], update), idempotencyKey: "line-\(number)").json
                .serialized()
        }
    }

    private static func revisions(_ results: [BatchResult]) throws -> [Revision] {
        try results.map { try $0.answer(ChangeAnswer.self).acceptedRevision }
    }

    /// Holds the results of all lines against what a stream promises: each line is carried out once, in order.
    private static func expectOnceInOrder(_ results: [BatchResult]) throws {
        let all = try revisions(results)
        for turn in ids.indices {
            let own = stride(from: turn, to: all.count, by: ids.count).map { all[$0] }
            #expect(own == (0..<own.count).map { Revision($0) + 2 })
        }
    }

    private static func read(_ count: Int, _ answers: inout IngestAnswers) async throws -> [BatchResult] {
        var results: [BatchResult] = []
        while results.count < count, let result = try await answers.next() { results.append(result) }
        return results
    }

    private static func readToEnd(_ answers: inout IngestAnswers) async throws -> [BatchResult] {
        try await read(.max, &answers)
    }

    @Test("that breaks off keeps what was answered, and the same lines again change nothing twice")
    func cut() async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            try await Self.start(client)
            let lines = Self.lines(600)
            let first = try await client.openIngest(TallySystem.app)
            var answers = first.answers
            try await first.send(lines)
            let answered = try await Self.read(100, &answers)
            first.hangUp()
            #expect(answered.count == 100)

            let second = try await client.openIngest(TallySystem.app)
            answers = second.answers
            try await second.send(lines)
            second.finish()
            let all = try await Self.readToEnd(&answers)
            #expect(all.count == 600)
            #expect(Array(all.prefix(100)) == answered)
            try Self.expectOnceInOrder(all)
        }
    }

    @Test("is answered while it is open, and a refused line leaves the others alone")
    func conversation() async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            try await Self.start(client)
            let stream = try await client.openIngest(TallySystem.app)
            var answers = stream.answers
            for (number, line) in Self.lines(6).enumerated() {
                try await stream.send([line, Array("{".utf8), Array(#"{"op":"end","id":"none","body":{}}"#.utf8)])
                let results = try await Self.read(3, &answers)
                #expect(results.map(\.status) == [202, 400, 404])
                #expect(results.map { $0.body["line"]?.int64 } == [nil, Int64(3 * number + 2), Int64(3 * number + 3)])
            }
            stream.finish()
            #expect(try await answers.next() == nil)
            for id in Self.ids { #expect(try await system.activity(id).revision == 3) }
        }
    }

    @Test("ends in order on SIGTERM: what was answered is stored, and the rest goes out to the next daemon")
    func shutdown() async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            try await Self.start(client)
            let lines = Self.lines(3_000)
            let first = try await client.openIngest(TallySystem.app)
            async let upload: Void = Self.send(lines, to: first)
            var answers = first.answers
            var answered = try await Self.read(50, &answers)
            let daemon = try system.daemon
            daemon.signal(SIGTERM)
            // A clean end: a stream that broke would throw here.
            answered += try await Self.readToEnd(&answers)
            first.hangUp()
            await upload
            #expect(await daemon.end(within: .seconds(30)) == .exited(0), "\(daemon.errors)")
            #expect(answered.count >= 50)

            try await system.startDaemon()
            let results = Results()
            let source = AsyncStream { continuation in
                for line in lines { continuation.yield(line) }
                continuation.finish()
            }
            try await system.client().ingest(TallySystem.app, source) { await results.add($0) }
            let all = await results.all
            #expect(all.count == 3_000)
            #expect(Array(all.prefix(answered.count)) == answered)
            try Self.expectOnceInOrder(all)
        }
    }

    private static func send(_ lines: [[UInt8]], to stream: IngestConnection) async {
        for first in stride(from: 0, to: lines.count, by: 20) {
            // The stream ends before all is sent.
            do { try await stream.send(Array(lines[first..<min(first + 20, lines.count)])) } catch { return }
        }
    }

    private actor Results {
        private(set) var all: [BatchResult] = []

        func add(_ result: BatchResult) { all.append(result) }
    }
}
