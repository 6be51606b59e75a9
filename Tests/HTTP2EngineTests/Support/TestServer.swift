import HTTP2Engine
import Reactor
import TLSEngine

enum ServerRecord: Sendable {
    case opened(UInt64)
    case closed(UInt64, HTTP2Error?)
    case request(HTTP2Request)
}

/// A server on a loop of its own whose answers a closure gives.
final class TestServer: Sendable {
    typealias Answer = @Sendable (HTTP2Request, HTTP2Responder) throws -> Void

    private final class Handler: HTTP2ServerHandler {
        let mailbox: Mailbox<ServerRecord>
        let answer: Answer

        init(_ mailbox: Mailbox<ServerRecord>, _ answer: @escaping Answer) {
            self.mailbox = mailbox
            self.answer = answer
        }

        func received(_ request: HTTP2Request, responder: HTTP2Responder) {
            do {
                try answer(request, responder)
            } catch {
                responder.reset(.internalError)
            }
        }

        func closed(_ connection: HTTP2ServerConnection, error: HTTP2Error?) {
            mailbox.post(.closed(connection.number, error))
        }
    }

    let loop: EventLoop
    let mailbox = Mailbox<ServerRecord>()
    let port: UInt16
    private let server: LoopBound<HTTP2Server>

    init(
        loop: EventLoop,
        context: TLSContext,
        configuration: HTTP2ServerConfiguration = HTTP2ServerConfiguration(),
        answer: @escaping Answer
    ) async throws {
        self.loop = loop
        let mailbox = mailbox
        server = try await loop.perform {
            Result {
                let server = try HTTP2Server(loop: loop, context: context, configuration: configuration) { connection in
                    mailbox.post(.opened(connection.number))
                    return Handler(mailbox, answer)
                }
                return LoopBound(server, to: loop)
            }
        }.get()
        port = try await loop.perform { [server] in server.value.port }
    }

    /// Runs `body` with the oldest connection on the loop.
    func onConnection<Result: Sendable>(
        _ body: @escaping @Sendable (HTTP2ServerConnection) -> Result
    ) async throws -> Result? {
        try await loop.perform { [server] in server.value.connections.first.map(body) }
    }

    func close() async throws {
        try await loop.perform { [server] in server.value.close() }
    }
}
