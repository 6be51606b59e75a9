import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Hands the requests of a connection to the responder, one after the other, and writes the answers.
///
/// Requests that arrive before the answer wait, and with more than a few of them the connection is not read. Bound to
/// its channel's event loop, like every channel handler; the responder's task runs there, too.
final class CallHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = HTTPResponsePart

    /// Parts of later requests that are kept. Then the connection reads no more.
    private static let mostWaiting = 16

    private let executor: EventLoopExecutor
    private let loop: any EventLoop
    private let calls: OpenCalls
    private let responder: HTTP1Connection.Responder
    /// Nil before the handler is added and after it is removed: then the connection is closed.
    private var context: ChannelHandlerContext?
    /// The body of the request that is being answered, or that is read to its end after the answer; nil without one.
    private var body: IncomingBody?
    private var hasWritten = false
    private var isAnswered = false
    /// What arrived behind that request.
    private var waiting = CircularBuffer<HTTPRequestPart>()
    /// Why no more requests come: the caller has closed its side, or has sent something else than HTTP.
    private var ending: Ending?
    private var wantsRead = false

    fileprivate enum Ending {
        case closed
        case malformed(HTTPParserError)
        /// The last answer is written.
        case over
    }

    init(loop: any EventLoop, calls: OpenCalls, responder: @escaping HTTP1Connection.Responder) {
        self.loop = loop
        self.calls = calls
        self.responder = responder
        executor = EventLoopExecutor(loop: loop)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

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
    private func take(_ part: HTTPRequestPart) {
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

    private func begin(_ head: HTTPRequest) {
        body = IncomingBody()
        (hasWritten, isAnswered) = (false, false)
        if let ending { body?.fail(ending.error)?.resume() }
        calls.enter()
        let call = HTTPCall(head: head, source: ConnectionBody(handler: NIOLoopBound(self, eventLoop: loop), loop: loop))
        let writer = AnswerWriter(handler: NIOLoopBound(self, eventLoop: loop), loop: loop)
        // Not structured: the event loop begins it. The listener waits for all calls before it returns.
        Task(executorPreference: executor) { [responder, calls] in
            defer { calls.leave() }
            do {
                try await writer.write(responder(call))
            } catch {
                await writer.fail(error)
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { end(.closed) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.closed)
        ending = .over
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What cannot be read or written ends the connection.
        guard let error = error as? HTTPParserError else { return context.close(promise: nil) }
        end(.malformed(error))
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
        switch ending {
        case .over: break
        case .closed: context.close(promise: nil)
        case .malformed:
            let head = HTTPResponse(status: .badRequest, headerFields: [.connection: "close", .contentLength: "0"])
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
        guard body != nil else { return reader.resume(throwing: Ending.closed.error) }
        body?.read(upTo: limit, reader)?.resume()
        readAgain()
    }

    // MARK: Answering

    /// Tells the caller to send the body.
    fileprivate func proceed() -> EventLoopFuture<Void> {
        defer { hasWritten = false }
        return write([.head(HTTPResponse(status: .continue))])
    }

    /// - Returns: When the last part was handed to the system.
    fileprivate func write(_ parts: [HTTPResponsePart]) -> EventLoopFuture<Void> {
        guard let context else { return loop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        hasWritten = true
        for part in parts.dropLast() { context.write(wrapOutboundOut(part), promise: nil) }
        let promise = loop.makePromise(of: Void.self)
        if let last = parts.last {
            context.writeAndFlush(wrapOutboundOut(last), promise: promise)
        } else {
            promise.succeed()
        }
        return promise.futureResult
    }

    /// The answer is written.
    fileprivate func answered() {
        isAnswered = true
        body?.discard()
        goOn()
        if isAnswered, body?.isComplete == false { finish() }
        readAgain()
    }

    /// There is no answer.
    fileprivate func failed(_ error: any Error) {
        if case .malformed = ending, !hasWritten { return finish() }
        context?.close(promise: nil)
    }

    fileprivate func hangUp() { context?.close(promise: nil) }
}

extension CallHandler.Ending {
    /// What a reader of a body is told.
    fileprivate var error: any Error {
        switch self {
        case .malformed(let error): error
        case .closed, .over: ChannelError.inputClosed
        }
    }
}

/// The body of a request on a connection.
private struct ConnectionBody: BodySource {
    let handler: NIOLoopBound<CallHandler>
    let loop: any EventLoop

    func collect(upTo limit: Int) async throws -> ByteBuffer {
        try await withCheckedThrowingContinuation { reader in
            loop.now { handler.value.collect(upTo: limit, reader) }
        }
    }

    func proceed() async throws {
        try await loop.flatSubmit { handler.value.proceed() }.get()
    }

    func hangUp() { loop.now { handler.value.hangUp() } }
}

/// Writes one answer from the responder's task.
private struct AnswerWriter: BodyWriter {
    let handler: NIOLoopBound<CallHandler>
    let loop: any EventLoop

    func write(_ answer: HTTPAnswer) async throws {
        let head = HTTPResponsePart.head(HTTPResponse(status: answer.status, headerFields: answer.headers))
        switch answer.body {
        case .bytes(let bytes):
            end([head] + (bytes.readableBytes > 0 ? [.body(bytes)] : []))
        case .none:
            end([head])
        case .stream(let body):
            try await loop.flatSubmit { handler.value.write([head]) }.get()
            try await body(self)
            end([])
        }
    }

    func write(_ part: ByteBuffer) async throws {
        try await loop.flatSubmit { handler.value.write([.body(part)]) }.get()
    }

    /// Waits for no reader: the next request is read when this one has arrived.
    private func end(_ parts: [HTTPResponsePart]) {
        loop.now {
            _ = handler.value.write(parts + [.end(nil)])
            handler.value.answered()
        }
    }

    func fail(_ error: any Error) async {
        loop.now { handler.value.failed(error) }
    }
}

extension EventLoop {
    /// Runs on the loop: at once for a caller that is there.
    fileprivate func now(_ body: @escaping @Sendable () -> Void) {
        if inEventLoop { body() } else { execute(body) }
    }
}
