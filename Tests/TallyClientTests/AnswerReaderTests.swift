import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import TallyClient

/// Behind the parser that a connection has, with a socket that gives what it is asked for.
@Suite("The parts of an answer")
struct AnswerReaderTests {
    /// Stands where the socket is: it is asked before each part whether there may be one.
    private final class Socket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        var isAsked = false

        func read(context: ChannelHandlerContext) { isAsked = true }
    }

    private let channel = EmbeddedChannel()
    private let socket = Socket()
    private let reader = AnswerReader()

    init() throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(socket)
        try pipeline.addHTTPClientHandlers()
        try pipeline.addHandler(reader)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        try channel.writeOutbound(HTTPClientRequestPart.head(.init(version: .http1_1, method: .GET, uri: "/")))
        try channel.writeOutbound(HTTPClientRequestPart.end(nil))
        channel.read()
        _ = try receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(try next() == .head(HTTPResponseHead(version: .http1_1, status: .ok, headers: Self.headers)))
    }

    private static let headers: HTTPHeaders = ["Transfer-Encoding": "chunked"]

    /// Whether the socket was asked for the text, which is here then; NIO goes on with the next question.
    private func receive(_ text: String) throws -> Bool {
        guard socket.isAsked else { return false }
        socket.isAsked = false
        try channel.writeInbound(ByteBuffer(string: text))
        channel.read()
        return true
    }

    /// As many chunks as the socket is asked for, numbered from `first`, at most `limit`; returns the number behind the
    /// last.
    private func flood(from first: Int, limit: Int = 1_000) throws -> Int {
        var number = first
        while number < first + limit, try receive("4\r\n\(number + 1_000)\r\n") { number += 1 }
        return number
    }

    private func next() throws -> HTTPClientResponsePart {
        try reader.next(on: channel.embeddedEventLoop).wait()
    }

    private func number() throws -> Int? {
        guard case .body(let bytes) = try next() else { return nil }
        return Int(String(buffer: bytes)).map { $0 - 1_000 }
    }

    @Test("While nobody asks for them the socket is read no further, and for each that is taken it is read on")
    func backpressure() throws {
        var arrived = try flood(from: 0)
        try #require(arrived == AnswerReader.mostWaiting)
        for taken in 0..<100 {
            #expect(try number() == taken)
            arrived = try flood(from: arrived)
            try #require(arrived == AnswerReader.mostWaiting + taken + 1)
        }
    }

    @Test("What has come is handed out although the connection broke behind it")
    func broken() throws {
        #expect(try flood(from: 0, limit: 3) == 3)
        channel.pipeline.fireChannelInactive()
        for expected in 0..<3 { #expect(try number() == expected) }
        #expect(throws: HTTPParserError.invalidEOFState) { _ = try next() }
    }
}
