import NIOCore
import NIOHTTP1

/// A queue of the parts of a connection's answers. It stops reading from the socket while many parts wait.
final class AnswerReader: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// The most parts in the queue. A part of a body is the result of one socket read.
    static let mostWaiting = 16

    private var parts: CircularBuffer<HTTPClientResponsePart> = []
    private var asking: EventLoopPromise<HTTPClientResponsePart>?
    private var failure: (any Error)?
    /// A read that the channel requested while the queue was full.
    private var heldRead: ChannelHandlerContext?

    /// The next part, as soon as it arrives. Fails when the connection is closed. Only one call at a time.
    func next(on loop: any EventLoop) -> EventLoopFuture<HTTPClientResponsePart> {
        if let part = parts.popFirst() {
            if parts.count < Self.mostWaiting, let context = heldRead {
                heldRead = nil
                context.read()
            }
            return loop.makeSucceededFuture(part)
        }
        if let failure { return loop.makeFailedFuture(failure) }
        let promise = loop.makePromise(of: HTTPClientResponsePart.self)
        asking = promise
        return promise.futureResult
    }

    func read(context: ChannelHandlerContext) {
        if parts.count < Self.mostWaiting { context.read() } else { heldRead = context }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard let promise = asking else {
            parts.append(part)
            return
        }
        asking = nil
        promise.succeed(part)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        heldRead = nil
        fail(ChannelError.eof)
    }

    private func fail(_ error: any Error) {
        if failure == nil { failure = error }
        asking?.fail(error)
        asking = nil
    }
}
