import NIOCore
import TLSEngine

/// TLS between a channel's bytes and its HTTP handlers, with the system's OpenSSL.
///
/// Writes before the end of the handshake wait for it. It is an error if the peer closes the connection without TLS's
/// closing message, because its last data may be incomplete.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case handshaking, open, closed
    }

    /// The peer closed the connection without TLS's closing message.
    struct Truncated: Error {}

    private let session: TLSSession
    private let handshake: EventLoopPromise<Void>
    private var state = State.handshaking
    private var waiting: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
    private static let recordSize = 16 * 1024

    /// `loop` is the channel's event loop.
    init(_ session: TLSSession, on loop: any EventLoop) {
        self.session = session
        handshake = loop.makePromise()
    }

    deinit {
        // The handler was never added to a channel, so nobody waits.
        handshake.fail(ChannelError.ioOnClosedChannel)
    }

    /// Fulfilled once the peer has proved its identity.
    var secured: EventLoopFuture<Void> { handshake.futureResult }

    func channelActive(context: ChannelHandlerContext) {
        shakeHands(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { session.feed($0) }
        switch state {
        case .handshaking: shakeHands(context)
        case .open: decrypt(context)
        case .closed: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if state != .closed { fail(Truncated(), context) }
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        // A channel that never connected ends without an error event.
        refuse(ChannelError.ioOnClosedChannel)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data)
        switch state {
        case .handshaking: waiting.append((bytes, promise))
        case .open: encrypt(bytes, promise, context)
        case .closed: promise?.fail(ChannelError.ioOnClosedChannel)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if state == .open, mode == .all {
            session.close()
            sendOutput(context, nil)
        }
        state = .closed
        refuse(ChannelError.ioOnClosedChannel)
        context.close(mode: mode, promise: promise)
    }

    private func shakeHands(_ context: ChannelHandlerContext) {
        let result = session.handshake()
        sendOutput(context, nil)
        switch result {
        case .wantsMore: break
        case .closed: fail(Truncated(), context)
        case .failed(let error): fail(error, context)
        case .complete:
            state = .open
            handshake.succeed()
            for (bytes, promise) in waiting { encrypt(bytes, promise, context) }
            waiting = []
            context.flush()
            decrypt(context)
        }
    }

    private func decrypt(_ context: ChannelHandlerContext) {
        while state == .open {
            var plain = context.channel.allocator.buffer(capacity: Self.recordSize)
            var result = TLSResult<Int>.wantsMore
            plain.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.recordSize) { room in
                result = session.read(into: room)
                return if case .complete(let count) = result { count } else { 0 }
            }
            switch result {
            case .complete: context.fireChannelRead(wrapInboundOut(plain))
            case .wantsMore:
                // Sends TLS's own answers to the peer, such as new keys.
                sendOutput(context, nil)
                return
            case .closed: context.close(promise: nil)
            case .failed(let error): fail(error, context)
            }
        }
    }

    private func encrypt(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        var rest = bytes
        while rest.readableBytes > 0 {
            switch rest.withUnsafeReadableBytes({ session.write($0) }) {
            case .complete(let count): rest.moveReaderIndex(forwardBy: count)
            case .wantsMore, .closed:
                promise?.fail(ChannelError.ioOnClosedChannel)
                return
            case .failed(let error):
                promise?.fail(error)
                fail(error, context)
                return
            }
        }
        sendOutput(context, promise, isFlushed: false)
    }

    private func sendOutput(
        _ context: ChannelHandlerContext,
        _ promise: EventLoopPromise<Void>?,
        isFlushed: Bool = true
    ) {
        let count = session.outputCount
        guard count > 0 else {
            promise?.succeed()
            return
        }
        var bytes = context.channel.allocator.buffer(capacity: count)
        bytes.writeBytes(session.output)
        session.consumeOutput(count)
        context.write(wrapOutboundOut(bytes), promise: promise)
        if isFlushed { context.flush() }
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        state = .closed
        refuse(error)
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }

    /// Fails the handshake and everything that waits for it.
    private func refuse(_ error: any Error) {
        handshake.fail(error)
        for (_, promise) in waiting { promise?.fail(error) }
        waiting = []
    }
}
