import HTTPTypes
import NIOCore
import NIOHTTP1

/// The last handler of a connection: hands its requests to the connection's task (``AcceptedConnection``), one after
/// the other, and writes the answers.
///
/// Requests that arrive before the answer wait, and with more than a few of them the connection is not read. Bound to
/// its channel's event loop, like every channel handler; the task runs there, too.
final class CallHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPServerResponsePart
    typealias Waiter = CheckedContinuation<HTTPCall?, Never>

    /// Parts of later requests that are kept. Then the connection reads no more.
    private static let mostWaiting = 16

    /// Nil before the handler is added and after it is removed: then the connection is closed.
    private var context: ChannelHandlerContext?
    /// The body of the request that is being answered, or that is read to its end after the answer; nil without one.
    private var body: IncomingBody?
    private var hasWritten = false
    private var isAnswered = false
    /// What arrived behind that request.
    private var waiting = CircularBuffer<HTTPServerRequestPart>()
    /// A request that the task has not taken yet.
    private var call: HTTPCall?
    /// The task, if it waits for a request.
    private var waiter: Waiter?
    /// Why no more requests come: the caller has closed its side, or has sent something else than HTTP.
    private var ending: Ending?
    private var isClosed = false
    private var wantsRead = false

    private enum Ending {
        case closed
        case malformed(HTTPParserError)
        /// The last answer is written.
        case over

        /// What a reader of a body is told.
        var error: any Error {
            switch self {
            case .malformed(let error): error
            case .closed, .over: ChannelError.inputClosed
            }
        }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        close()
        self.context = nil
    }

    // MARK: Arriving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .over = ending { return }
        let part = unwrapInboundIn(data)
        if body?.isComplete == false {
            take(part)
        } else {
            waiting.append(part)
            goOn()
        }
    }

    /// A part of the current request.
    private func take(_ part: HTTPServerRequestPart) {
        switch part {
        case .head: break
        case .body(let bytes): body?.append(bytes)?.resume()
        case .end:
            body?.end()?.resume()
            goOn()
        }
    }

    /// Begins the next request if the current one is answered and read to its end.
    private func goOn() {
        if isAnswered, body?.isComplete == true {
            body = nil
            isAnswered = false
        }
        while body == nil || body?.isComplete == false, let part = waiting.popFirst() {
            if case .head(let head) = part { begin(head) } else { take(part) }
        }
        if body == nil { finish() }
    }

    private func begin(_ head: HTTPRequestHead) {
        guard let context else { return }
        guard let head = HTTPRequest(head) else { return end(.malformed(.invalidMethod)) }
        body = IncomingBody()
        (hasWritten, isAnswered) = (false, false)
        if let ending { body?.fail(ending.error)?.resume() }
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let source = ConnectionBody(handler: handler, loop: context.eventLoop, peer: context.remoteAddress)
        call = HTTPCall(head: head, source: source)
        hand()
    }

    /// Waits for the next request; nil: the connection is closed. Only one task may wait.
    func next(_ waiter: Waiter) {
        self.waiter = waiter
        hand()
    }

    private func hand() {
        guard call != nil || isClosed, let waiter else { return }
        self.waiter = nil
        waiter.resume(returning: call)
        call = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { end(.closed) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        close()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What cannot be read or written ends the connection.
        guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
        end(.malformed(error))
    }

    private func close() {
        if body?.isComplete == false { body?.fail(Ending.closed.error)?.resume() }
        ending = .over
        isClosed = true
        call = nil
        hand()
    }

    private func end(_ ending: Ending) {
        guard self.ending == nil else { return }
        self.ending = ending
        if body?.isComplete == false { body?.fail(ending.error)?.resume() }
        // What is cut off behind it is no request.
        if body == nil || isAnswered { finish() }
    }

    /// Ends the connection if no more requests come.
    private func finish() {
        guard let ending, let context else { return }
        self.ending = .over
        waiting.removeAll()
        switch ending {
        case .over: break
        case .closed: context.close(promise: nil)
        case .malformed:
            let head = HTTPResponseHead(.badRequest, [.connection: "close", .contentLength: "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            // Input stays open, as in ``ExchangeHandler``.
            context.close(mode: .output, promise: nil)
        }
    }

    // MARK: Reading

    func read(context: ChannelHandlerContext) {
        if takesMore { context.read() } else { wantsRead = true }
    }

    private var takesMore: Bool { body?.takesMore != false && waiting.count < Self.mostWaiting }

    private func readAgain() {
        guard wantsRead, takesMore, let context else { return }
        wantsRead = false
        context.read()
    }

    fileprivate func collect(upTo limit: Int, _ reader: IncomingBody.Reader) {
        guard body != nil, !isClosed else { return reader.resume(throwing: Ending.closed.error) }
        body?.read(upTo: limit, reader)?.resume()
        readAgain()
    }

    fileprivate func part(keeping most: Int, _ reader: IncomingBody.Reader) {
        guard body != nil, !isClosed else { return reader.resume(throwing: Ending.closed.error) }
        body?.readPart(keeping: most, reader)?.resume()
        readAgain()
    }

    fileprivate func arrived(keeping most: Int) -> ByteBuffer {
        guard !isClosed else { return ByteBuffer() }
        defer { readAgain() }
        return body?.takeArrived(keeping: most) ?? ByteBuffer()
    }

    fileprivate func stopReading() { body?.stop()?.resume() }

    fileprivate func tellProgress() { context?.triggerUserOutboundEvent(RequestProgressed(), promise: nil) }

    // MARK: Answering

    /// Tells the caller to send the body.
    fileprivate func proceed(_ promise: EventLoopPromise<Void>) {
        write([.head(HTTPResponseHead(.continue, [:]))], promise)
        hasWritten = false
    }

    /// The promise succeeds when the last part is handed to the system.
    func write(_ parts: [HTTPServerResponsePart], _ promise: EventLoopPromise<Void>?) {
        guard let context, let last = parts.last else { return promise?.fail(ChannelError.ioOnClosedChannel) ?? () }
        hasWritten = true
        for part in parts.dropLast() { context.write(wrapOutboundOut(part), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(last), promise: promise)
    }

    /// Whether the caller reads too slowly for more answers.
    var isCongested: Bool { context?.channel.isWritable == false }

    /// The answer is written. Whatever is left of the request's body is read and forgotten.
    func answered() {
        isAnswered = true
        body?.discard()
        goOn()
        if isAnswered, body?.isComplete == false { finish() }
        readAgain()
    }

    /// There is no answer, or only a part of one.
    func failed() {
        if case .malformed = ending, !hasWritten { return finish() }
        hangUp()
    }

    fileprivate func hangUp() { context?.close(promise: nil) }
}

/// The body of a request on a connection.
private struct ConnectionBody: BodySource {
    let handler: NIOLoopBound<CallHandler>
    let loop: any EventLoop
    let peer: SocketAddress?

    var client: String { peer?.ipAddress ?? "" }

    func collect(upTo limit: Int) async throws -> ByteBuffer {
        try await withCheckedThrowingContinuation { reader in
            loop.now { handler.value.collect(upTo: limit, reader) }
        }
    }

    func part(keeping most: Int) async throws -> ByteBuffer {
        try await withCheckedThrowingContinuation { reader in
            loop.now { handler.value.part(keeping: most, reader) }
        }
    }

    func arrived(keeping most: Int) async -> ByteBuffer {
        await withCheckedContinuation { reader in
            loop.now { reader.resume(returning: handler.value.arrived(keeping: most)) }
        }
    }

    func stopReading() { loop.now { handler.value.stopReading() } }

    func tellProgress() { loop.now { handler.value.tellProgress() } }

    func proceed() async throws {
        let promise = loop.makePromise(of: Void.self)
        loop.now { handler.value.proceed(promise) }
        try await promise.futureResult.get()
    }

    func hangUp() { loop.now { handler.value.hangUp() } }
}

/// Fired up the pipeline when a part of a long request is carried out, and its answer is still to come.
package struct RequestProgressed: Sendable {
    package init() {}
}

extension EventLoop {
    /// Runs on the loop: at once for a caller that is there.
    func now(_ body: @escaping @Sendable () -> Void) {
        if inEventLoop { body() } else { execute(body) }
    }
}
