import NIOCore
import NIOHTTP1

/// Applies the rules of RFC 9110 and RFC 9112 that need both a request and its answer.
///
/// - A request with a faulty head is an error, as bytes that are no HTTP are: 400, and the connection ends.
/// - An answer to `HEAD` has no body.
/// - The connection ends after an answer if the caller asked for that, or if it may leave out the announced body.
///
/// Bound to its channel's event loop, as every channel handler.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request whose answer is not yet complete.
    private struct Exchange {
        let isHead: Bool
        /// Whether the connection ends with the answer.
        var isLast: Bool
        /// Whether the caller holds the body back until it hears 100.
        var awaitsContinue: Bool
    }

    private let decoder: RequestDecoder
    /// In the order of the requests, which is that of the answers.
    private var open = CircularBuffer<Exchange>()
    /// Whether more of the newest request is to come.
    private var isReading = false
    private var offersProtocol = false
    /// Whether the connection reads no more requests.
    private var isOver = false

    init(decoder: RequestDecoder) {
        self.decoder = decoder
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            offersProtocol = RequestHeadRules.offersProtocol(head)
            if isOver { return }
            if let fault = RequestHeadRules.fault(in: head) {
                isOver = true
                context.fireErrorCaught(fault)
                return
            }
            isReading = true
            open.append(
                Exchange(
                    isHead: head.method == .HEAD,
                    isLast: !head.isKeepAlive,
                    awaitsContinue: RequestHeadRules.awaitsContinue(head)
                )
            )
        case .body:
            if isOver { return }
        case .end:
            decoder.requestEnded(offersProtocol: offersProtocol)
            if isOver { return }
            isReading = false
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // An answer without a request goes to a caller whose bytes were no HTTP.
        guard !open.isEmpty else { return context.write(data, promise: promise) }
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status.code < 200:
            open[open.startIndex].awaitsContinue = false
            context.write(data, promise: promise)
        case .head(var head):
            // This caller may send the body now, or leave it out. The server cannot tell where the next request begins.
            if open[open.startIndex].awaitsContinue, isReading, open.count == 1 { open[open.startIndex].isLast = true }
            if open[open.startIndex].isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            guard open[open.startIndex].isHead else { return context.write(data, promise: promise) }
            promise?.succeed()
        case .end:
            let exchange = open.removeFirst()
            // The end of a chunked body is a chunk, too.
            let end: HTTPServerResponsePart = .body(.byteBuffer(ByteBuffer()))
            context.write(exchange.isHead ? wrapOutboundOut(end) : data, promise: promise)
            if exchange.isLast {
                isOver = true
                context.flush()
                // Input stays open: with unread input the system would reset the connection, and the caller would lose the
                // answer.
                context.close(mode: .output, promise: nil)
            }
        }
    }
}
