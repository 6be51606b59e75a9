import APITypes
import HTTP1Server
import HTTPTypes
import NIOCore
import Registry
import Store
import Synchronization
import Testing

@testable import HTTPAPI

@Suite("A stream of operations", .timeLimit(.minutes(2)))
struct IngestStreamTests {
    private static let line = #"{"op":"end","id":"a","body":{}}"# + "\n"

    /// A stream whose whole request is in memory.
    private static func stream(
        _ body: String,
        _ service: RecordingService,
        times: IngestStream.Times = .init(),
        authenticateAgain: @escaping @Sendable () async throws -> Principal? = { principal }
    ) -> IngestStream {
        let head = HTTPRequest(method: .post, scheme: "http", authority: "tally", path: "/ingest")
        let incoming = HTTPCall(head: head, body: ByteBuffer(string: body))
        return IngestStream(
            app: RecordingService.boundApp,
            group: OperationGroup(
                service: service,
                principal: principal,
                app: RecordingService.boundApp,
                origin: RequestOrigin(requestID: "r", trace: nil)
            ),
            principal: principal,
            terms: StreamTerms(authenticateAgain: authenticateAgain),
            incoming: incoming,
            limits: RateLimits(requestsPerSecond: nil),
            turns: ReadingTurns(count: 1),
            times: times
        )
    }

    private static let principal = Principal(keyID: "k", scopes: [.publish], app: nil)

    @Test("No group is carried out before the answers to the one before it are taken")
    func backPressure() async throws {
        let service = RecordingService()
        let writer = CountingWriter { service.calls.count { $0.hasPrefix("batch") } }
        try await Self.stream(String(repeating: Self.line, count: 5_500), service).answer(to: writer)
        #expect(writer.counts == [1, 2, 3, 4, 5, 6])
        #expect(writer.lines == 5_500)
    }

    @Test("ends with 401 when the key is revoked, before the lines of that time are carried out")
    func revoked() async throws {
        let service = RecordingService()
        let writer = CountingWriter { 0 }
        var times = IngestStream.Times()
        times.authentication = .zero
        let asked = Atomic(0)
        let stream = Self.stream(String(repeating: Self.line, count: 2_500), service, times: times) {
            asked.add(1, ordering: .relaxed).newValue < 2 ? Self.principal : nil
        }
        try await stream.answer(to: writer)
        #expect(service.calls.count { $0.hasPrefix("batch") } == 1)
        #expect(writer.lines == 1_001)
        #expect(writer.text.split(separator: "\n").last?.contains(#""code":"unauthorized""#) == true)
    }

    @Test("goes on while nobody can say whether the key is good")
    func outage() async throws {
        let service = RecordingService()
        let writer = CountingWriter { 0 }
        var times = IngestStream.Times()
        times.authentication = .zero
        let stream = Self.stream(String(repeating: Self.line, count: 2_500), service, times: times) {
            throw RecordingService.Outage()
        }
        try await stream.answer(to: writer)
        #expect(writer.lines == 2_500)
    }

    @Test("Over a socket a body of chunks and one with a length are taken, also after 100 Continue")
    func sockets() async throws {
        try await RawServer.with { server in
            let head =
                "POST /v1/apps/com.example.mine/ingest HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin\r\n"
                + "Content-Type: application/x-ndjson\r\nConnection: close\r\n"
            let chunk = "\(String(Self.line.utf8.count, radix: 16))\r\n\(Self.line)\r\n"
            let whole = try await server.exchange(
                head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + "0\r\n\r\n"
            )
            #expect(whole.statuses == [200])
            #expect(whole.text.matches(of: #/"code":"reached"/#).count == 2)
            #expect(whole.text.hasSuffix("\r\n0\r\n\r\n"))

            let length = "Content-Length: \(Self.line.utf8.count * 2)\r\nExpect: 100-continue\r\n\r\n"
            let waiting = try await server.exchange(head + length + Self.line + Self.line)
            #expect(waiting.statuses == [100, 200])
            #expect(waiting.text.matches(of: #/"code":"reached"/#).count == 2)
        }
    }
}

/// Counts what is written, and what there was at each write.
private final class CountingWriter: BodyWriter {
    private let state = Mutex((counts: [Int](), bytes: ByteBuffer()))
    private let count: @Sendable () -> Int

    init(_ count: @escaping @Sendable () -> Int) {
        self.count = count
    }

    var counts: [Int] { state.withLock { $0.counts } }
    var text: String { state.withLock { String(buffer: $0.bytes) } }
    var lines: Int { text.utf8.count { $0 == UInt8(ascii: "\n") } }

    func write(_ part: ByteBuffer) async throws {
        // Whoever would go on meanwhile gets the chance.
        for _ in 0..<100 { await Task.yield() }
        let now = count()
        state.withLock { state in
            state.counts.append(now)
            state.bytes.writeImmutableBuffer(part)
        }
    }
}
