import APITypes
import ActivityModel
import JSON
import TestSupport
import Testing

@testable import TallyClient

@Suite("Following events with the client", .timeLimit(.minutes(3)))
struct EventSequenceTests {
    private static func event(_ number: Int) -> String {
        let event = EventResource(id: "7-\(number)", at: Instant(unixSeconds: 0), kind: "token_died", detail: [:])
        return "id: 7-\(number)\nevent: token_died\ndata: \(event.json.text)\n\n"
    }

    private static func mark(_ number: Int) -> String { ": \nid: 7-\(number)\n\n" }

    private func client(
        _ server: ScriptedServer,
        deadline: Duration = .seconds(300),
        retry: RetryPolicy? = RetryPolicy(firstDelay: .milliseconds(1), longestDelay: .milliseconds(4))
    ) throws -> TallyClient {
        try TallyClient(
            .init(url: server.url, key: "key", requestTimeout: .seconds(120), deadline: deadline, retry: retry)
        )
    }

    private func read(_ count: Int, of events: EventSequence) async throws -> [String] {
        var ids: [String] = []
        for try await event in events {
            ids.append(event.id)
            if ids.count == count { break }
        }
        return ids
    }

    @Test(
        "A stream that is cut, in the middle of an event too, is gone on with behind the last one: none is missed, none twice"
    )
    func resume() async throws {
        let server = try ScriptedServer { number, request in
            switch number {
            case 0: .stream([Self.mark(0), Self.event(1) + Self.event(2) + String(Self.event(3).prefix(40))], .hangUp)
            case 1: .stream([Self.mark(2), Self.event(3), Self.mark(8)], .end)
            case 2: .hangUp
            case 3: .answer(status: 503, body: Problem.unavailable(retryAfter: 0).json.text)
            default: .stream([Self.event(9)], .silence)
            }
        }
        defer { server.stop() }
        let query = EventQuery(app: BundleID(stored: "com.example.app"), kinds: ["token_died", "demoted"])
        #expect(try await read(4, of: client(server).follow(query)) == ["7-1", "7-2", "7-3", "7-9"])
        #expect(server.received.map { $0.headers["last-event-id"] } == [nil, "7-2", "7-8", "7-8", "7-8"])
        let first = try #require(server.received.first)
        #expect(first.target == "/v1/events?bundle_id=com.example.app&kind=token_died%2Cdemoted")
        #expect(first.headers["accept"] == "text/event-stream")
    }

    @Test("A stream that says nothing is given up and opened again; a reader may begin anywhere")
    func silence() async throws {
        let server = try ScriptedServer { number, _ in
            number == 0 ? .stream([Self.mark(5)], .silence) : .stream([Self.event(6)], .silence)
        }
        defer { server.stop() }
        let events = try client(server).follow(EventQuery(), after: "0-0", patience: .seconds(3))
        #expect(try await read(1, of: events) == ["7-6"])
        #expect(server.received.map { $0.headers["last-event-id"] } == ["0-0", "7-5"])
    }

    @Test("A reader that is refused says why, also with retries")
    func refused() async throws {
        let server = try ScriptedServer { _, _ in
            .answer(status: 403, body: Problem.missingScope(.read).json.text)
        }
        defer { server.stop() }
        let client = try client(server)
        let error = await #expect(throws: ClientError.self) { _ = try await read(1, of: client.follow(EventQuery())) }
        #expect(error?.problem?.code == "missing_scope")
        #expect(server.received.count == 1)
    }

    @Test("A server that stays away ends it when the deadline has passed, and at once without retries")
    func away() async throws {
        let server = try ScriptedServer { _, _ in .hangUp }
        defer { server.stop() }
        for client in [try client(server, deadline: .milliseconds(100)), try client(server, retry: nil)] {
            let error = await #expect(throws: ClientError.self) {
                _ = try await read(1, of: client.follow(EventQuery()))
            }
            #expect(error?.code == .unreachable)
        }
    }

    @Test("What is no event is told apart")
    func garbage() async throws {
        let server = try ScriptedServer { _, _ in .stream(["data: {\"id\":7}\n\n"], .silence) }
        defer { server.stop() }
        let client = try client(server)
        let error = await #expect(throws: ClientError.self) { _ = try await read(1, of: client.follow(EventQuery())) }
        #expect(error?.code == .badAnswer)
    }

    @Test("A reader that is cancelled while it waits ends, and so does its connection")
    func cancelled() async throws {
        let server = try ScriptedServer { _, _ in .stream([Self.event(1)], .silence) }
        defer { server.stop() }
        let events = try client(server).follow(EventQuery())
        let (arrivals, arrived) = AsyncStream.makeStream(of: String.self)
        let reader = Task {
            for try await event in events { arrived.yield(event.id) }
        }
        for await id in arrivals {
            #expect(id == "7-1")
            break
        }
        reader.cancel()
        try await reader.value
        try await eventually("the connection ends", every: .milliseconds(5)) { server.openConnections == 0 }
    }
}

@Suite("Server-sent events")
struct EventStreamParserTests {
    @Test(
        "Lines end in any of three ways, wherever the bytes are cut",
        arguments: ["\n", "\r\n", "\r"],
        [1, 2, 3, 1_000]
    )
    func lines(end: String, step: Int) throws {
        let text = [": hello", "id: 1-1", "data: a", "data:b", "", "id: 1-2", "", "event: x", "data", "", "data: cut"]
        let bytes = Array(text.joined(separator: end).utf8)
        var parser = EventStreamParser()
        var found: [EventStreamParser.Message] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            found += try parser.take(bytes[start..<min(start + step, bytes.count)])
        }
        #expect(
            found == [.init(id: "1-1", data: "a\nb"), .init(id: "1-2", data: nil), .init(id: "1-2", data: "")]
        )
    }

    @Test("A line without an end is not kept for ever")
    func endless() {
        var parser = EventStreamParser()
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        #expect(throws: EventStreamParser.TooLong.self) {
            for _ in 0..<5 { _ = try parser.take(chunk) }
        }
    }
}
