import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import HTTP1Server

/// A connection in memory: bytes in, requests out, and back.
final class Connection {
    private let channel = EmbeddedChannel()
    private var complete: [String] = []
    /// Of the request that is being read.
    private var begun = ""

    init() throws {
        try HTTP1Connection.addDecoding(to: channel.pipeline.syncOperations, limits: NIOHTTPDecoderLimitConfiguration())
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
    }

    /// Whether the server has not closed it.
    var isOpen: Bool { channel.isActive }

    /// - Throws: what the connection makes of bytes that are no request.
    func receive(_ bytes: some Sequence<UInt8>) throws {
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    func receive(_ text: String) throws { try receive(text.utf8) }

    /// The requests that have been read: method, target and body.
    func requests() throws -> [String] {
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head): begun = "\(head.method) \(head.uri) "
            case .body(let buffer): begun += String(buffer: buffer)
            case .end: complete.append(begun)
            }
        }
        return complete
    }

    /// Writes an answer, and hands back its bytes as text.
    func answer(
        _ status: HTTPResponseStatus,
        _ headers: HTTPHeaders = [:],
        body: String? = nil
    ) throws -> String {
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        if let body { try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: body)))) }
        if status.code >= 200 { try channel.writeOutbound(HTTPServerResponsePart.end(nil)) }
        var text = ""
        while let data = try channel.readOutbound(as: IOData.self) {
            if case .byteBuffer(let buffer) = data { text += String(buffer: buffer) }
        }
        return text
    }

    /// Ends it, as the caller does.
    func close() throws { _ = try channel.finish(acceptAlreadyClosed: true) }
}
