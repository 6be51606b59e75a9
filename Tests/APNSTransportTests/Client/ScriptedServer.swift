import APNSTransport
import Cryptography
import Foundation
import Glibc
import HTTP2Engine
import Reactor
import Synchronization
import TLSEngine
import Testing

/// A real HTTP/2 server on loopback that does with each request what its script says.
final class ScriptedServer: Sendable {
    /// What the server does with a request.
    enum Reply: Sendable {
        case answer(status: Int, fields: [HTTP2Header] = [], body: String = "")
        /// The same, later.
        case answerAfter(Duration, status: Int, body: String = "")
        /// RST_STREAM.
        case reset(HTTP2ErrorCode)
        /// The same after a while.
        case resetAfter(Duration, HTTP2ErrorCode)
        /// Nothing, ever.
        case silence
        /// GOAWAY that names this stream as the first one not processed.
        case goAwayBefore(HTTP2ErrorCode = .noError, debugData: String = "")
        /// GOAWAY that names this stream as the last one processed, and no answer.
        case goAwayWithout(HTTP2ErrorCode, debugData: String)
        /// 200, then GOAWAY that names this stream as the last one processed.
        case goAwayAfter
        /// The end of the TCP connection.
        case drop
        /// 200, then the end of the connection.
        case answerAndClose
        /// Nothing is read from this connection any more.
        case freeze

        static let ok = Reply.answer(status: 200)

        /// An answer with a reason in its body.
        static func refusal(_ status: Int, _ reason: String) -> Reply {
            .answer(status: status, body: #"{"reason":"\#(reason)"}"#)
        }
    }

    /// A request as the script sees it.
    struct Received: Sendable {
        /// Counts all requests from 0.
        let number: Int
        /// Counts connections from 1.
        let connection: UInt64
        let method: String
        let path: String
        let fields: [HTTP2Header]
        let body: [UInt8]
        /// How many requests of this connection wait for an answer, this one included.
        let open: Int

        subscript(name: String) -> String? {
            fields.first { $0.name == name }?.value
        }
    }

    typealias Script = @Sendable (Received) -> Reply

    let endpoint: APNSEndpoint
    private let loop: EventLoop
    private let server: LoopBound<HTTP2Server>
    private let record: RequestRecord

    /// Starts to listen on a free port.
    init(
        maximumConcurrentStreams: Int = 1000,
        port: UInt16 = 0,
        script: @escaping Script
    ) async throws {
        let loop = try EventLoop(name: "scripted")
        let record = RequestRecord()
        let context = try TLSContext.server(
            certificatePEM: TestCertificate.shared.certificatePEM,
            privateKeyPEM: TestCertificate.shared.privateKeyPEM
        )
        let made = try await loop.perform { () -> Result<LoopBound<HTTP2Server>, HTTP2Error> in
            var configuration = HTTP2ServerConfiguration()
            configuration.maximumConcurrentStreams = maximumConcurrentStreams
            return Result { () throws(HTTP2Error) in
                let server = try HTTP2Server(loop: loop, context: context, port: port, configuration: configuration) {
                    Handler(connection: $0, record: record, script: script)
                }
                return LoopBound(server, to: loop)
            }
        }
        server = try made.get()
        self.loop = loop
        self.record = record
        endpoint = APNSEndpoint(host: "localhost", port: try await loop.perform { [server] in server.value.port })
    }

    /// The requests so far.
    var received: [Received] { record.received }

    /// Returns when `count` requests have come.
    func arrival(of count: Int) async {
        await record.arrival(of: count)
    }

    /// Returns when `count` connections have ended.
    func end(of count: Int) async {
        await record.end(of: count)
    }

    /// Does something with all open connections.
    func onConnections(_ body: @escaping @Sendable (HTTP2ServerConnection) -> Void) async throws {
        try await loop.perform { [server] in
            for connection in server.value.connections { body(connection) }
        }
    }

    /// Closes everything and frees the port.
    func stop() async throws {
        try await loop.perform { [server] in server.value.close() }
        await loop.shutDown()
    }

    private final class Handler: HTTP2ServerHandler {
        private let connection: UInt64
        private let record: RequestRecord
        private let script: Script

        init(connection: HTTP2ServerConnection, record: RequestRecord, script: @escaping Script) {
            self.connection = connection.number
            self.record = record
            self.script = script
        }

        func received(_ request: HTTP2Request, responder: HTTP2Responder) {
            let received = record.add { number in
                Received(
                    number: number,
                    connection: connection,
                    method: request.method,
                    path: request.path,
                    fields: request.fields.all,
                    body: request.body,
                    open: responder.connection?.openStreams ?? 0
                )
            }
            switch script(received) {
            case .answer(let status, let fields, let body):
                respond(responder, status, fields, body)
            case .answerAfter(let delay, let status, let body):
                responder.connection?.loop.schedule(after: delay) { [self] in
                    respond(responder, status, [], body)
                }
            case .reset(let code):
                responder.reset(code)
            case .resetAfter(let delay, let code):
                responder.connection?.loop.schedule(after: delay) { responder.reset(code) }
            case .silence:
                break
            case .goAwayBefore(let code, let data):
                responder.connection?.goAway(
                    lastStreamID: max(0, request.streamID - 2),
                    code: code,
                    debugData: Array(data.utf8)
                )
            case .goAwayWithout(let code, let data):
                responder.connection?.goAway(
                    lastStreamID: request.streamID,
                    code: code,
                    debugData: Array(data.utf8)
                )
            case .answerAndClose:
                respond(responder, 200, [], "")
                responder.connection?.close()
            case .goAwayAfter:
                respond(responder, 200, [], "")
                responder.connection?.goAway(lastStreamID: request.streamID)
            case .drop:
                responder.connection?.drop()
            case .freeze:
                responder.connection?.pauseReading()
            }
        }

        private func respond(_ responder: HTTP2Responder, _ status: Int, _ fields: [HTTP2Header], _ body: String) {
            do {
                try responder.respond(status: status, fields: fields, body: Array(body.utf8))
            } catch {
                Issue.record("the script answers what HTTP/2 cannot express: \(error)")
            }
        }

        func closed(_ connection: HTTP2ServerConnection, error: HTTP2Error?) {
            record.addEnd()
        }
    }
}

/// The requests and ended connections of a server, and those who wait for a number of them.
final class RequestRecord: Sendable {
    private struct Waiter {
        let isDue: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var received: [ScriptedServer.Received] = []
        var ended = 0
        var waiting: [Waiter] = []

        mutating func takeDue() -> [Waiter] {
            let all = waiting
            let state = self
            waiting = all.filter { !$0.isDue(state) }
            return all.filter { $0.isDue(state) }
        }
    }

    private let state = Mutex(State())

    var received: [ScriptedServer.Received] { state.withLock(\.received) }

    func add(_ make: (Int) -> ScriptedServer.Received) -> ScriptedServer.Received {
        let (received, due) = state.withLock { state in
            let received = make(state.received.count)
            state.received.append(received)
            return (received, state.takeDue())
        }
        for waiter in due { waiter.continuation.resume() }
        return received
    }

    func addEnd() {
        let due = state.withLock { state in
            state.ended += 1
            return state.takeDue()
        }
        for waiter in due { waiter.continuation.resume() }
    }

    func arrival(of count: Int) async {
        await wait { $0.received.count >= count }
    }

    func end(of count: Int) async {
        await wait { $0.ended >= count }
    }

    private func wait(_ isDue: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                guard !isDue(state) else { return true }
                state.waiting.append(Waiter(isDue: isDue, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// The certificate of all scripted servers, made once per process.
enum TestCertificate {
    static let shared: SelfSignedCertificate = {
        do {
            return try SelfSignedCertificate.make()
        } catch {
            // Start-up of the test process: without a certificate no test of this kind means anything.
            fatalError("no test certificate: \(error)")
        }
    }()

    /// A file with the authority that clients are to trust.
    static let caFile: String = write(shared.caPEM)

    /// Files with what a server of another make needs.
    static let certificateFile: String = write(shared.certificatePEM)
    static let keyFile: String = write(shared.privateKeyPEM)

    /// A file with an authority that signed nothing here.
    static let foreignCAFile: String = {
        do {
            return write(try SelfSignedCertificate.make().caPEM)
        } catch {
            fatalError("no test certificate: \(error)")
        }
    }()

    /// The files last as long as the process: they are removed when it ends.
    private static let files: Mutex<[String]> = {
        atexit { TestCertificate.removeFiles() }
        return Mutex([])
    }()

    private static func removeFiles() {
        for path in files.withLock({ $0 }) { unlink(path) }
    }

    private static func write(_ text: String) -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "tally-ca-\(UUID().uuidString).pem")
        files.withLock { $0.append(file.path) }
        do {
            try text.write(to: file, atomically: true, encoding: .utf8)
        } catch {
            fatalError("no file for the test certificate: \(error)")
        }
        return file.path
    }
}
