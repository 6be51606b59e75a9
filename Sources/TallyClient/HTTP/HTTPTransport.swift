package import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
package import TLSEngine

/// Sends requests over reused connections: HTTP/1.1 with SwiftNIO, TLS with the system's OpenSSL.
package final class HTTPTransport: Sendable {
    /// The most bytes of one body.
    package static let longestBody = 64 << 20
    /// How long one connection may take to open.
    private static let connectTimeout = Duration.seconds(10)

    /// Finds the addresses of a server for one connection. It may refuse them.
    package typealias Finder = @Sendable (_ host: String, _ port: Int) async throws -> [SocketAddress]

    private let server: ServerAddress
    private let finder: Finder?
    private let longestAnswer: Int
    private let tls: TLSContext?
    private let gate: RequestGate
    private let idle = Mutex<[HTTPConnection]>([])

    /// Opens no connection yet. `caFile`: PEM certificates to trust besides the system's.
    package convenience init(server: ServerAddress, caFile: String?, maximumConnections: Int) throws(TLSError) {
        self.init(
            server: server,
            tls: server.isSecure ? try TLSContext.client(caFile: caFile, for: .http1) : nil,
            maximumConnections: maximumConnections
        )
    }

    /// Opens no connection yet.
    ///
    /// - Parameters:
    ///   - server: Where requests go.
    ///   - tls: Nil: plain HTTP.
    ///   - maximumConnections: How many requests may run at the same time.
    ///   - finder: It alone names the addresses that are connected to. Nil: the system does.
    ///   - longestAnswer: An answer with a longer body is an error.
    package init(
        server: ServerAddress,
        tls: TLSContext?,
        maximumConnections: Int,
        finder: Finder? = nil,
        longestAnswer: Int = HTTPTransport.longestBody
    ) {
        self.server = server
        self.tls = tls
        self.finder = finder
        self.longestAnswer = longestAnswer
        gate = RequestGate(width: maximumConnections)
    }

    /// Sends a request and waits for its whole answer, until the request's timeout or `end`. The timeout does not
    /// include the wait for a connection.
    package func send(
        _ request: HTTPRequest,
        until end: ContinuousClock.Instant
    ) async throws(HTTPFailure) -> HTTPReply {
        guard await gate.enter(until: end) else { throw Task.isCancelled ? .cancelled : .timedOut }
        defer { gate.leave() }
        let now = ContinuousClock.now
        // The caller has already given up, so a late effect would surprise it.
        guard now < end else { throw .timedOut }
        let due = min(end, now + request.timeout)
        return try await Self.step(until: due) { try await self.exchange(request, until: due) }
    }

    /// Sends a request on a new connection, and returns its answer as a stream.
    func open(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPStream {
        let due = ContinuousClock.now + request.timeout
        return try await Self.step(until: due) {
            let connection = try await self.connect(until: due)
            do {
                return HTTPStream(try await connection.begin(request, at: self.server), connection)
            } catch {
                throw HTTPFailure.interrupted(error)
            }
        }
    }

    /// Sends the head of a request on a new connection. Its answer comes after its body.
    func upload(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPUpload {
        let due = ContinuousClock.now + request.timeout
        return try await Self.step(until: due) {
            let connection = try await self.connect(until: due)
            connection.sendHead(of: request, to: self.server)
            return HTTPUpload(connection)
        }
    }

    /// Runs a step of an exchange with a deadline.
    static func step<Value: Sendable>(
        until due: ContinuousClock.Instant,
        _ step: @escaping @Sendable () async throws -> Value
    ) async throws(HTTPFailure) -> Value {
        let (result, isLate) = await cancelling(at: due) { () -> Result<Value, HTTPFailure> in
            do {
                return .success(try await step())
            } catch {
                return .failure(error as? HTTPFailure ?? .interrupted(error))
            }
        }
        guard !Task.isCancelled else { throw .cancelled }
        guard !isLate else { throw .timedOut }
        return try result.get()
    }

    // MARK: Connections

    private func exchange(_ request: HTTPRequest, until due: ContinuousClock.Instant) async throws -> HTTPReply {
        // A server may close an idle connection at the moment of its reuse (RFC 9112 §9.3.1).
        while request.isRepeatable, let connection = idle.withLock({ $0.popLast() }) {
            guard connection.isOpen, let head = try? await connection.begin(request, at: server) else {
                if Task.isCancelled { throw HTTPFailure.cancelled }
                continue
            }
            return try await finish(head, on: connection)
        }
        let connection = try await connect(until: due)
        return try await finish(connection.begin(request, at: server), on: connection)
    }

    /// Reads an answer to its end. Keeps the connection for reuse if the server keeps it open.
    private func finish(_ head: HTTPResponseHead, on connection: HTTPConnection) async throws -> HTTPReply {
        var body: [UInt8] = []
        while let bytes = try await connection.nextBytes() {
            body += bytes.readableBytesView
            guard body.count <= longestAnswer else { throw TooLong() }
        }
        if head.isKeepAlive, connection.isOpen { idle.withLock { $0.append(connection) } }
        return HTTPReply(head, body: body)
    }

    private func connect(until due: ContinuousClock.Instant) async throws(HTTPFailure) -> HTTPConnection {
        let time = ContinuousClock.now.duration(to: due)
        guard time > .zero else { throw .timedOut }
        do {
            let addresses = try await finder?(server.host, server.port)
            return try await .open(
                to: server,
                tls: tls,
                timeout: min(time, Self.connectTimeout),
                resolver: addresses.map {
                    FixedResolver(addresses: $0, loop: MultiThreadedEventLoopGroup.singleton.next())
                }
            )
        } catch let error as TLSError where error.code == .untrusted {
            throw .untrusted(error)
        } catch {
            throw ContinuousClock.now < due ? .notSent(error) : .timedOut
        }
    }

    /// The server sent more bytes than Tally ever sends.
    private struct TooLong: Error {}
}

/// Gives addresses that were looked up before.
private struct FixedResolver: Resolver, Sendable {
    let addresses: [SocketAddress]
    let loop: any EventLoop

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == .inet })
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == .inet6 })
    }

    func cancelQueries() {}
}

/// An answer that is read as it arrives. The connection closes with the last reference.
struct HTTPStream: Sendable {
    let head: HTTPReply
    private let connection: HTTPConnection

    fileprivate init(_ head: HTTPResponseHead, _ connection: HTTPConnection) {
        self.head = HTTPReply(head, body: [])
        self.connection = connection
    }

    /// The next bytes of the body; nil at its end.
    ///
    /// - Throws: ``HTTPFailure/timedOut`` if nothing arrives within `time`.
    func nextBytes(within time: Duration) async throws(HTTPFailure) -> ByteBuffer? {
        try await HTTPTransport.step(until: .now + time) { [connection] in try await connection.nextBytes() }
    }

    /// Sends a part of a streamed body. Returns when it is handed to the system, which may wait for the server.
    func send(_ part: ByteBuffer) async throws { try await connection.send(part) }

    /// Ends a streamed body.
    func endBody() { connection.endBody() }

    /// Breaks off, also whoever waits for a part to be sent or for bytes.
    func hangUp() { connection.close() }

    /// Reads the whole of a short answer.
    func wholeAnswer(within time: Duration) async throws(HTTPFailure) -> HTTPReply {
        var answer = head
        while let bytes = try await nextBytes(within: time), answer.body.count < HTTPTransport.longestBody {
            answer.body += bytes.readableBytesView
        }
        return answer
    }
}

/// A request whose body is sent part by part, and then answered. A refusal may come earlier. The connection closes with
/// the last reference.
struct HTTPUpload: Sendable {
    private let connection: HTTPConnection

    fileprivate init(_ connection: HTTPConnection) {
        self.connection = connection
    }

    /// Sends a part of the body. Returns when it is handed to the system, which may wait for the server.
    ///
    /// - Throws: ``HTTPFailure/timedOut`` if it waits longer than `time`.
    func send(_ part: ByteBuffer, within time: Duration) async throws(HTTPFailure) {
        try await HTTPTransport.step(until: .now + time) { [connection] in try await connection.send(part) }
    }

    /// Ends the body.
    func endBody() { connection.endBody() }

    /// Breaks off, also whoever waits for the answer.
    func hangUp() { connection.close() }

    /// Waits for the answer, however long the body takes, and reads it.
    func answer(within time: Duration) async throws(HTTPFailure) -> HTTPReply {
        let head: HTTPResponseHead
        do {
            head = try await connection.answerHead()
        } catch {
            throw Task.isCancelled ? .cancelled : .interrupted(error)
        }
        return try await HTTPStream(head, connection).wholeAnswer(within: time)
    }
}

extension HTTPReply {
    fileprivate init(_ head: HTTPResponseHead, body: [UInt8]) {
        self.init(
            status: Int(head.status.code),
            retryAfter: head.headers.first(name: "Retry-After").flatMap { Int($0) },
            body: body
        )
    }
}
