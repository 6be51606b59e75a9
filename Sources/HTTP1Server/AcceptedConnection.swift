import NIOCore
import NIOHTTP1

/// An accepted connection, as the task that serves it sees it. The listener starts the task.
struct AcceptedConnection: Sendable {
    let loop: any EventLoop
    private let handler: NIOLoopBound<CallHandler>

    /// Called on the connection's event loop.
    init(_ handler: CallHandler, loop: any EventLoop) {
        self.handler = NIOLoopBound(handler, eventLoop: loop)
        self.loop = loop
    }

    /// Answers the requests one by one until the connection is closed.
    func serve(_ responder: HTTP1Connection.Responder) async {
        while let call = await next() {
            do {
                try await write(try await responder(call))
            } catch {
                loop.now { handler.value.failed() }
            }
        }
    }

    private func next() async -> HTTPCall? {
        await withCheckedContinuation { waiter in
            loop.now { handler.value.next(waiter) }
        }
    }

    private func write(_ answer: HTTPAnswer) async throws {
        let head = HTTPServerResponsePart.head(HTTPResponseHead(answer.status, answer.headers))
        switch answer.body {
        case .bytes(let bytes) where bytes.readableBytes > 0: try await end([head, .body(.byteBuffer(bytes))])
        case .bytes, .none: try await end([head])
        case .stream(let body):
            try await write([head])
            try await body(StreamWriter(connection: self))
            try await end([])
        }
    }

    /// Returns when the parts are handed to the system.
    fileprivate func write(_ parts: [HTTPServerResponsePart]) async throws {
        let promise = loop.makePromise(of: Void.self)
        loop.now { handler.value.write(parts, promise) }
        try await promise.futureResult.get()
    }

    /// Waits only for a caller that reads too slowly. Everybody else may get the next answer at once.
    private func end(_ parts: [HTTPServerResponsePart]) async throws {
        let promise = loop.makePromise(of: Void.self)
        loop.now {
            handler.value.write(parts + [.end(nil)], promise)
            let isCongested = handler.value.isCongested
            handler.value.answered()
            if !isCongested { promise.succeed() }
        }
        try await promise.futureResult.get()
    }
}

private struct StreamWriter: BodyWriter {
    let connection: AcceptedConnection

    func write(_ part: ByteBuffer) async throws { try await connection.write([.body(.byteBuffer(part))]) }
}
