import HTTP2TestSupport
import HTTP2Engine
import Reactor
import TLSEngine

/// Sends many requests with different paths, as many at once as the server allows, and compares the echo in each
/// answer.
final class PathEcho: HTTP2ClientHandler {
    struct Answers: Sendable {
        var right = 0
        var wrong = 0
        var mostOpen = 0
    }

    private let count: Int
    private let headers: SharedHeaders
    private let done: Mailbox<Answers>
    private var next = 0
    private var answers = Answers()
    /// Itself, until it is done.
    private var keepAlive: PathEcho?
    private var connection: HTTP2ClientConnection?

    private init(count: Int, headers: SharedHeaders, done: Mailbox<Answers>) {
        self.count = count
        self.headers = headers
        self.done = done
    }

    static func run(count: Int, loop: EventLoop, context: TLSContext, port: UInt16) async throws -> Answers {
        let headers = try SharedHeaders(authority: "localhost", pathPrefix: "/3/", fields: [])
        let done = Mailbox<Answers>()
        let implementation = BothSessions.implementation
        try await loop.perform {
            let echo = PathEcho(count: count, headers: headers, done: done)
            echo.keepAlive = echo
            var configuration = HTTP2ClientConfiguration()
            configuration.implementation = implementation
            let connection = HTTP2ClientConnection(
                loop: loop,
                context: context,
                host: "localhost",
                port: port,
                configuration: configuration,
                handler: echo
            )
            echo.connection = connection
            connection.connect()
        }
        return try await done.next()
    }

    private func sendMore(_ connection: HTTP2ClientConnection) {
        while next < count, connection.availableStreams > 0 {
            let suffix = Array("device-\(next)".utf8)
            let body = SharedBytes("body of \(next)".utf8)
            let id = try? connection.submit(tag: UInt64(next), headers: headers, pathSuffix: suffix.span, body: body)
            guard id != nil else { return }
            answers.mostOpen = max(answers.mostOpen, connection.openStreams)
            next += 1
        }
        if answers.right + answers.wrong == count { connection.close() }
    }

    func connected(_ connection: HTTP2ClientConnection) {
        sendMore(connection)
    }

    func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response) {
        if response.fields["apns-id"] == "device-\(tag)" { answers.right += 1 } else { answers.wrong += 1 }
    }

    func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure) {
        answers.wrong += 1
    }

    func streamsFreed(_ connection: HTTP2ClientConnection) {
        sendMore(connection)
    }

    func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int) {}

    func goneAway(
        _ connection: HTTP2ClientConnection,
        lastStreamID: Int32,
        code: HTTP2ErrorCode,
        debugData: [UInt8]
    ) {}

    func exhausted(_ connection: HTTP2ClientConnection) {}

    func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?) {
        done.post(answers)
        keepAlive = nil
        self.connection = nil
    }
}
