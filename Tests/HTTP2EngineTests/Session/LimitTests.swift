import HTTP2TestSupport
import Testing

@testable import HTTP2Engine

/// A server that changes its mind. A ``StrictServer`` complains about each limit that a client exceeds.
@Suite("Limits that change on the way", .bothSessions)
struct LimitTests {
    private let client: Duellist
    private var server: StrictServer { client.server }

    init() throws {
        client = try Duellist(BothSessions.implementation)
        say(server.settings([]))
    }

    private func say(_ bytes: [UInt8]) {
        client.receive(bytes)
        client.settle()
    }

    private func submit(_ tags: ClosedRange<UInt64>, path: String = "/1", body: Int = 0) throws {
        let headers = try SharedHeaders(
            authority: "a",
            fields: [HTTP2Header("apns-topic", "topic"), HTTP2Header("authorization", "bearer token")]
        )
        let bytes = body == 0 ? nil : SharedBytes((0..<body).map { UInt8(truncatingIfNeeded: $0) })
        for tag in tags {
            _ = try client.submit(OutgoingRequest(headers: headers, body: bytes), tag: tag, path: Array(path.utf8))
        }
    }

    private func expectNoViolation() {
        #expect(server.violations == [])
        #expect(client.complaints == [])
    }

    @Test("a header table of size 0 and back costs nothing but bytes", arguments: [[0], [0, 4096], [100, 0, 65_536]])
    func tableSize(sizes: [UInt32]) throws {
        try submit(1...3)
        client.settle()
        for size in sizes { client.receive(server.settings([(1, size)])) }
        try submit(4...6)
        client.settle()
        #expect(server.requests.count == 6)
        for request in server.requests.values {
            #expect(request.fields.contains(HTTP2Header("apns-topic", "topic")))
            #expect(request.fields.contains(HTTP2Header("authorization", "bearer token")))
        }
        expectNoViolation()
    }

    @Test("a window that becomes negative stops a body until it is positive again")
    func negativeWindow() throws {
        try submit(1...1, body: 100_000)
        client.settle()
        #expect(server.requests[1]?.body.count == 65_535)
        say(server.settings([(4, 1000)]))
        say(server.grant(100_000))
        #expect(server.requests[1]?.body.count == 65_535)
        say(server.grant(stream: 1, 64_535))
        #expect(server.requests[1]?.body.count == 65_535)
        say(server.grant(stream: 1, 5))
        #expect(server.requests[1]?.body.count == 65_540)
        say(server.settings([(4, 200_000)]))
        #expect(server.requests[1]?.body.count == 100_000)
        #expect(server.requests[1]?.isComplete == true)
        expectNoViolation()
    }

    @Test("the connection's window is shared, and whoever waits longest goes first")
    func sharedWindow() throws {
        try submit(1...30, body: 10_000)
        client.settle()
        #expect(server.requests.count == 30)
        #expect(server.requests.values.reduce(0) { $0 + $1.body.count } == 65_535)
        try submit(31...31, body: 10_000)
        client.settle()
        say(server.grant(10_000 * 31 - 65_535))
        #expect(server.requests.values.allSatisfy { $0.isComplete && $0.body.count == 10_000 })
        expectNoViolation()
    }

    @Test("a block larger than a frame continues in others, and fits into one once the server allows it")
    func frameSize() throws {
        let path = "/" + String(repeating: "p", count: 40_000)
        try submit(1...1, path: path)
        client.settle()
        say(server.settings([(5, 1 << 20)]))
        try submit(2...2, path: path)
        client.settle()
        for stream in [1, 3] as [UInt32] {
            #expect(server.requests[stream]?.fields.contains(HTTP2Header(":path", path)) == true)
        }
        expectNoViolation()
    }

    @Test("requests above a new limit of streams wait, and leave in their order")
    func streams() throws {
        try submit(1...5)
        // The limit arrives before they are encoded.
        say(server.settings([(3, 2)]))
        #expect(server.requests.keys.sorted() == [1, 3])
        for stream in [1, 3] as [UInt32] {
            server.end(stream, isReset: false)
            say(RawFrame.headers(stream: stream, ends: true, RawFrame.ok))
        }
        #expect(server.requests.keys.sorted() == [1, 3, 5, 7])
        say(server.settings([(3, 100)]))
        #expect(server.requests.keys.sorted() == [1, 3, 5, 7, 9])
        expectNoViolation()
    }

    @Test("a second GOAWAY with an earlier stream gives back what lies between")
    func secondGoAway() throws {
        try submit(1...4)
        client.settle()
        say(server.goAway(last: 5))
        #expect(client.outcomes == [4: .failed(.notProcessed)])
        #expect(!client.session.acceptsRequests)
        say(server.goAway(last: 1))
        #expect(client.outcomes == [2: .failed(.notProcessed), 3: .failed(.notProcessed), 4: .failed(.notProcessed)])
        server.end(1, isReset: false)
        say(RawFrame.headers(stream: 1, ends: true, RawFrame.ok))
        #expect(client.outcomes[1] == .answered(status: 200, fields: [], body: []))
        #expect(client.session.isFinished)
        expectNoViolation()
    }

    @Test("an announced GOAWAY without a last stream stops new requests, and open ones go on")
    func announcedGoAway() throws {
        try submit(1...2, body: 80_000)
        client.settle()
        say(RawFrame.goAway(last: 0x7fff_ffff, code: 0))
        #expect(client.outcomes.isEmpty)
        #expect(!client.session.acceptsRequests)
        say(server.grant(200_000) + server.grant(stream: 1, 20_000) + server.grant(stream: 3, 20_000))
        #expect(server.requests.values.allSatisfy { $0.isComplete && $0.body.count == 80_000 })
        expectNoViolation()
    }

    @Test("what arrives byte by byte is the same as at once")
    func byteByByte() throws {
        // libnghttp2 counts the bytes of a CONTINUATION's head as so many frames, of which it allows eight.
        let size = BothSessions.implementation == .tally ? 1 : 2
        try submit(1...2)
        client.settle()
        let bytes =
            RawFrame.ping(1)
            + RawFrame.frame(type: 1, flags: 0x2c, stream: 1, [2, 0, 0, 0, 0, 9] + RawFrame.ok + [0, 0])
            + RawFrame.frame(type: 0, flags: 9, stream: 1, [3] + Array("body".utf8) + [0, 0, 0])
            + RawFrame.frame(type: 99, flags: 0xff, [1, 2, 3])
            + RawFrame.frame(type: 1, stream: 3, Array(RawFrame.field(":status", "410").prefix(3)))
            + RawFrame.continuation(stream: 3, ends: true, Array(RawFrame.field(":status", "410").dropFirst(3)))
            + RawFrame.data(stream: 3, [])
        for start in stride(from: 0, to: bytes.count, by: size) {
            client.receive(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        client.settle()
        #expect(client.outcomes[1] == .answered(status: 200, fields: [], body: Array("body".utf8)))
        #expect(client.outcomes[2] == .answered(status: 410, fields: [], body: []))
        #expect(server.pongs == 1)
        expectNoViolation()
    }

    @Test("a header block may have 8 CONTINUATION frames, and a ninth ends the connection", arguments: [8, 9])
    func continuations(count: Int) throws {
        try submit(1...1)
        client.settle()
        let parts = (1...count).flatMap { number in
            RawFrame.continuation(stream: 1, ends: number == count, RawFrame.field("a", "\(number)"))
        }
        say(RawFrame.frame(type: 1, flags: 1, stream: 1, RawFrame.ok) + parts)
        let fields = (1...count).map { HTTP2Header("a", "\($0)") }
        #expect(client.outcomes == (count == 8 ? [1: .answered(status: 200, fields: fields, body: [])] : [:]))
        #expect(client.complaints.isEmpty == (count == 8))
    }

    @Test("the client gives windows back before a server has to wait")
    func windowUpdates() throws {
        let sent = Duellist.Sent()
        client.onOutput = { sent.bytes += $0 }
        try submit(1...20)
        client.settle()
        for stream in stride(from: UInt32(1), to: 40, by: 2) {
            say(RawFrame.headers(stream: stream, ends: false, RawFrame.ok))
            for _ in 0..<4 { say(RawFrame.data(stream: stream, ends: false, RawFrame.text(16_000))) }
        }
        let updates = RawFrame.read(sent.bytes).filter { $0.type == 8 }
        // Each stream has got 64,000 bytes, in a window of 65,535; the connection 1,280,000 in one of 1 MiB.
        #expect(Set(updates.map(\.stream)) == Set([0] + stride(from: UInt32(1), to: 40, by: 2)))
        #expect(client.session.violation == nil)
        #expect(client.outcomes.isEmpty)
    }
}
