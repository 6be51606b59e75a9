import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTP1Server
@testable import HTTPAPI

/// By a clock that the tests turn on, behind the parser that a server has.
@Suite("Deadlines of connections")
struct ConnectionDeadlinesTests {
    private static let get = "GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let post = "POST /v1/api-keys HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"

    private let channel = EmbeddedChannel()

    init() throws {
        let times = HTTPServerConfiguration().connectionTimes
        #expect(times == ConnectionTimes(head: .seconds(30), idle: .seconds(90), exchange: .seconds(300)))
        try HTTP1Connection.addDecoding(to: channel.pipeline.syncOperations, limits: NIOHTTPDecoderLimitConfiguration())
        try channel.pipeline.syncOperations.addHandler(ConnectionDeadlines(times))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
    }

    private func receive(_ text: String) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    private func answer() throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "0"])
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }

    /// Whether it is still open so many seconds later.
    private func isOpen(after seconds: Int64) -> Bool {
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds))
        return channel.isActive
    }

    @Test("One on which nothing is asked is closed after 30 s")
    func idle() {
        #expect(isOpen(after: 29))
        #expect(!isOpen(after: 1))
    }

    @Test("A head that comes byte by byte has 30 s in all")
    func slowHead() throws {
        for character in "GET /health/live HTTP/1.1\r\nHost: a\r\nX: ".prefix(29) {
            try receive(String(character))
            #expect(isOpen(after: 1))
        }
        try receive("x")
        #expect(!isOpen(after: 1))
    }

    @Test("So has the head of a later request, from its first byte on")
    func slowHeadAgain() throws {
        try receive(Self.get)
        try answer()
        #expect(isOpen(after: 80))
        for character in "GET /health/live HTTP/1.1\r\nHost: a\r\nX: ".prefix(29) {
            try receive(String(character))
            #expect(isOpen(after: 1))
        }
        #expect(!isOpen(after: 1))
    }

    @Test("A request that makes progress has 300 s more for its answer each time")
    func progress() throws {
        try receive(Self.post)
        for _ in 1...3 {
            #expect(isOpen(after: 299))
            try channel.pipeline.triggerUserOutboundEvent(RequestProgressed()).wait()
        }
        #expect(isOpen(after: 299))
        #expect(!isOpen(after: 1))
    }

    @Test("A head that began before the answer to the request in front has 30 s from that answer on")
    func slowHeadBehind() throws {
        try receive(Self.get)
        try receive("GET ")
        #expect(isOpen(after: 100))
        try answer()
        #expect(isOpen(after: 29))
        #expect(!isOpen(after: 1))
    }

    @Test("A body that stalls, or comes byte by byte, has 300 s from its head on", arguments: [false, true])
    func slowBody(drips: Bool) throws {
        #expect(isOpen(after: 20))
        try receive(Self.post)
        for _ in 1...29 {
            if drips { try receive("x") }
            #expect(isOpen(after: 10))
        }
        #expect(isOpen(after: 9))
        #expect(!isOpen(after: 1))
    }

    @Test("A request that is not answered has 300 s")
    func slowAnswer() throws {
        try receive(Self.get)
        #expect(isOpen(after: 299))
        #expect(!isOpen(after: 1))
    }

    @Test("The second request of a connection has 300 s for its answer, as the first")
    func slowAnswerAgain() throws {
        try receive(Self.get)
        try answer()
        try receive(Self.get)
        #expect(isOpen(after: 299))
        #expect(!isOpen(after: 1))
    }

    @Test("One that rests after an answer is closed 90 s later; each request begins anew")
    func keptAlive() throws {
        for _ in 1...5 {
            try receive(Self.get)
            try answer()
            #expect(isOpen(after: 80))
        }
        #expect(isOpen(after: 9))
        #expect(!isOpen(after: 1))
    }

    @Test("An answer that goes on and on holds it open for as long as something is written")
    func stream() throws {
        try receive(Self.get)
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        for _ in 1...40 {
            try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: "x"))))
            #expect(isOpen(after: 15))
        }
        #expect(isOpen(after: 74))
        #expect(!isOpen(after: 1))
    }
}
