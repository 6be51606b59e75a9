import HTTP2TestSupport
import HTTP2Engine
import Reactor
import Synchronization
import TLSEngine

/// What a client's handler was told, in order.
enum ClientRecord: Sendable {
    case connected
    case responded(tag: UInt64, HTTP2Response)
    case failed(tag: UInt64, HTTP2StreamFailure)
    case streamsFreed
    case settings(Int)
    case goneAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8])
    case exhausted
    case closed(HTTP2Error?)
}

/// A client connection that tests drive from their own tasks.
final class TestClient: Sendable {
    private final class Handler: HTTP2ClientHandler {
        let mailbox: Mailbox<ClientRecord>

        let onResponse: @Sendable (HTTP2ClientConnection) -> Void

        init(_ mailbox: Mailbox<ClientRecord>, onResponse: @escaping @Sendable (HTTP2ClientConnection) -> Void) {
            self.mailbox = mailbox
            self.onResponse = onResponse
        }

        func connected(_ connection: HTTP2ClientConnection) {
            mailbox.post(.connected)
        }

        func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response) {
            mailbox.post(.responded(tag: tag, response))
            onResponse(connection)
        }

        func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure) {
            mailbox.post(.failed(tag: tag, failure))
        }

        func streamsFreed(_ connection: HTTP2ClientConnection) {
            mailbox.post(.streamsFreed)
        }

        func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int) {
            mailbox.post(.settings(maximumConcurrentStreams))
        }

        func goneAway(
            _ connection: HTTP2ClientConnection,
            lastStreamID: Int32,
            code: HTTP2ErrorCode,
            debugData: [UInt8]
        ) {
            mailbox.post(.goneAway(lastStreamID: lastStreamID, code: code, debugData: debugData))
        }

        func exhausted(_ connection: HTTP2ClientConnection) {
            mailbox.post(.exhausted)
        }

        func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?) {
            mailbox.post(.closed(error))
        }
    }

    private struct Parts {
        let connection: HTTP2ClientConnection
        let handler: Handler
    }

    let loop: EventLoop
    let mailbox = Mailbox<ClientRecord>()
    private let parts: LoopBound<Parts>
    private let outcomes = Mutex<[UInt64: Result<HTTP2Response, StreamFailed>]>([:])

    init(
        loop: EventLoop,
        context: TLSContext,
        host: String = "localhost",
        port: UInt16,
        configuration: HTTP2ClientConfiguration = HTTP2ClientConfiguration(),
        onResponse: @escaping @Sendable (HTTP2ClientConnection) -> Void = { _ in }
    ) async throws {
        self.loop = loop
        let mailbox = mailbox
        var configuration = configuration
        configuration.implementation = BothSessions.implementation
        let chosen = configuration
        parts = try await loop.perform {
            let handler = Handler(mailbox, onResponse: onResponse)
            let connection = HTTP2ClientConnection(
                loop: loop,
                context: context,
                host: host,
                port: port,
                configuration: chosen,
                handler: handler
            )
            connection.connect()
            return LoopBound(Parts(connection: connection, handler: handler), to: loop)
        }
    }

    /// Runs `body` with the connection on its loop.
    func onLoop<Result: Sendable>(
        _ body: @escaping @Sendable (HTTP2ClientConnection) -> Result
    ) async throws -> Result {
        try await loop.perform { [parts] in body(parts.value.connection) }
    }

    /// Submits one request; false when there is no room.
    func submit(
        _ tag: UInt64,
        path: String = "/",
        fields: [HTTP2Header] = [],
        extra: [HTTP2Header] = [],
        body: [UInt8] = []
    ) async throws -> HTTP2StreamID? {
        let headers = try SharedHeaders(authority: "localhost", fields: fields)
        let shared = body.isEmpty ? nil : SharedBytes(body)
        return try await onLoop { connection in
            Result { try connection.submit(tag: tag, headers: headers, path: path, extra: extra, body: shared) }
        }.get()
    }

    /// Waits for the first SETTINGS and returns the limit in them.
    func waitUntilOpen() async throws -> Int {
        while true {
            switch try await mailbox.next() {
            case .settings(let limit): return limit
            case .closed(let error): throw error ?? HTTP2Error(.lost, "closed")
            default: continue
            }
        }
    }

    /// Waits for the answer to, or the failure of, one request; others are kept for later calls.
    func outcome(_ wanted: UInt64) async throws -> Result<HTTP2Response, StreamFailed> {
        while true {
            if let outcome = outcomes.withLock({ $0.removeValue(forKey: wanted) }) { return outcome }
            switch try await mailbox.next() {
            case .responded(let tag, let response): outcomes.withLock { $0[tag] = .success(response) }
            case .failed(let tag, let failure): outcomes.withLock { $0[tag] = .failure(StreamFailed(failure: failure)) }
            case .closed(let error): throw error ?? HTTP2Error(.lost, "closed")
            default: continue
            }
        }
    }

    /// Waits for the end of the connection; other records are skipped.
    func end() async throws -> HTTP2Error? {
        while true {
            if case .closed(let error) = try await mailbox.next() { return error }
        }
    }

    /// Everything that the handler has yet to be told; the last is the end.
    func recordsUntilEnd() async throws -> [ClientRecord] {
        var records: [ClientRecord] = []
        while true {
            let record = try await mailbox.next()
            records.append(record)
            if case .closed = record { return records }
        }
    }

    func close() async throws {
        try await onLoop { $0.close() }
    }
}

struct StreamFailed: Error {
    let failure: HTTP2StreamFailure
}

extension HTTP2ClientConnection {
    /// Submits one request.
    @discardableResult
    func submit(
        tag: UInt64,
        headers: SharedHeaders,
        pathSuffix: Span<UInt8>,
        extra: [HTTP2Header] = [],
        body: SharedBytes?
    ) throws(HTTP2Error) -> HTTP2StreamID? {
        var stream: HTTP2StreamID?
        try withSubmissions(headers: headers, extra: extra, body: body) { (submissions) throws(HTTP2Error) in
            stream = try submissions.add(tag: tag, pathSuffix: pathSuffix)
        }
        return stream
    }

    @discardableResult
    func submit(
        tag: UInt64,
        headers: SharedHeaders,
        path: String,
        extra: [HTTP2Header] = [],
        body: SharedBytes?
    ) throws(HTTP2Error) -> HTTP2StreamID? {
        let bytes = Array(path.utf8)
        return try submit(tag: tag, headers: headers, pathSuffix: bytes.span, extra: extra, body: body)
    }
}
