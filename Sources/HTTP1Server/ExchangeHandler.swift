import NIOCore
import NIOHTTP1

/// Applies the rules of RFC 9110 and RFC 9112 that need both a request and its answer.
///
/// - A request with an invalid head is an error, like bytes that are not HTTP: 400, and the connection closes.
/// - An answer to `HEAD` has no body.
/// - The connection closes after an answer if the caller asked for it, or if the caller may leave out the announced
///   body.
///
/// Bound to its channel's event loop, like every channel handler.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request whose answer is not complete yet.
    private struct Exchange {
        let isHead: Bool
        /// Whether the connection closes after the answer.
        var isLast: Bool
        /// Whether the caller waits for `100 Continue` before it sends the body.
        var awaitsContinue: Bool
    }

    private let decoder: RequestDecoder
    /// The open requests in order. Their answers have the same order.
    private var open = CircularBuffer<Exchange>()
    /// Whether the newest request is incomplete.
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

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent { quiesce(context) }
        context.fireUserInboundEventTriggered(event)
    }

    /// The server stops: the connection closes after the open requests.
    private func quiesce(_ context: ChannelHandlerContext) {
        if !open.isEmpty, !isOver {
            open[open.index(before: open.endIndex)].isLast = true
        } else if isReading, !isOver {
            // The answer came before the end of the request. The caller may not have read it yet.
            closeOutput(context)
        } else {
            context.close(promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // This answers bytes that were not HTTP, so no request belongs to it.
        guard !open.isEmpty else { return context.write(data, promise: promise) }
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status.code < 200:
            open[open.startIndex].awaitsContinue = false
            context.write(data, promise: promise)
        case .head(var head):
            // The caller may now send the body or leave it out, so the server cannot know where the next request
            // begins.
            if open[open.startIndex].awaitsContinue, isReading, open.count == 1 { open[open.startIndex].isLast = true }
            if open[open.startIndex].isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            guard open[open.startIndex].isHead else { return context.write(data, promise: promise) }
            promise?.succeed()
        case .end:
            let exchange = open.removeFirst()
            // The end of a chunked body is itself a chunk.
            let end: HTTPServerResponsePart = .body(.byteBuffer(ByteBuffer()))
            context.write(exchange.isHead ? wrapOutboundOut(end) : data, promise: promise)
            if exchange.isLast { closeOutput(context) }
        }
    }

    /// Reads no more requests. Input stays open, because the system resets a connection with unread input, and the
    /// caller would lose the answer.
    private func closeOutput(_ context: ChannelHandlerContext) {
        isOver = true
        context.flush()
        context.close(mode: .output, promise: nil)
    }
}
