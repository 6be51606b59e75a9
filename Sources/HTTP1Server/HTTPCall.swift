package import HTTPTypes
package import NIOCore
import Synchronization

/// One request. Its body may not have arrived yet.
package struct HTTPCall: Sendable {
    package let head: HTTPRequest
    /// The path as the caller sent it, without the query.
    package let path: String
    /// What follows the `?`; nil without one.
    package let query: String?
    private let source: any BodySource

    /// A request whose body is in memory already, and which has no connection.
    package init(head: HTTPRequest, body: ByteBuffer = ByteBuffer()) {
        self.init(head: head, source: WholeBody(bytes: body, connection: nil))
    }

    /// Another request on the same connection, whose body is in memory already.
    package func inPlace(_ head: HTTPRequest, body: ByteBuffer) -> HTTPCall {
        HTTPCall(head: head, source: WholeBody(bytes: body, connection: source))
    }

    init(head: HTTPRequest, source: any BodySource) {
        self.head = head
        self.source = source
        (path, query) = Self.parts(of: head.path ?? "/")
    }

    /// The IP address of the caller, or of the proxy before it; empty without a connection.
    package var client: String { source.client }

    /// Reads the whole body. To be called once.
    ///
    /// - Throws: ``BodyTooLarge`` for more than `limit` bytes, whatever else the caller sends; another error if the
    ///   connection broke or was no HTTP any more.
    package func body(upTo limit: Int) async throws -> ByteBuffer { try await source.collect(upTo: limit) }

    /// Reads the body part by part: what has arrived since the last call, or else what arrives next.
    ///
    /// The connection is read only as fast as this is called. Not to be mixed with ``body(upTo:)``.
    ///
    /// - Parameter most: how many bytes may wait for the next call.
    /// - Returns: Nil at the end of the body, and after ``stopReading()``.
    /// - Throws: An error if the connection broke or was no HTTP any more.
    package func bodyPart(keeping most: Int) async throws -> ByteBuffer? {
        let part = try await source.part(keeping: most)
        return part.readableBytes > 0 ? part : nil
    }

    /// What has arrived since the last ``bodyPart(keeping:)``. It does not wait: it may be nothing, also before the end.
    package func arrivedBody(keeping most: Int) async -> ByteBuffer { await source.arrived(keeping: most) }

    /// Ends the body for its reader, also for one that waits for the next part.
    package func stopReading() { source.stopReading() }

    /// Tells the connection that the request makes progress, although its answer is still to come
    /// (``RequestProgressed``).
    package func tellProgress() { source.tellProgress() }

    /// Sends `100 Continue` to a caller that waits for it.
    package func proceed() async throws { try await source.proceed() }

    /// Closes the connection immediately.
    package func hangUp() { source.hangUp() }

    /// Splits a request target (RFC 9112 §3.2), which may be a whole address.
    static func parts(of target: String) -> (path: String, query: String?) {
        var rest = target[...]
        if rest.utf8.first != UInt8(ascii: "/"), let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...]
            rest = rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
        }
        // By bytes: to look for whole characters would take longer than all else that is done with a target.
        let pathEnd = rest.utf8.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = pathEnd == rest.startIndex ? "/" : String(rest[..<pathEnd])
        guard pathEnd < rest.endIndex else { return (path, nil) }
        let query = rest[rest.utf8.index(after: pathEnd)...]
        return (path, String(query[..<(query.utf8.firstIndex(of: UInt8(ascii: "#")) ?? query.endIndex)]))
    }
}

/// The body has more bytes than its reader takes.
package struct BodyTooLarge: Error {
    package let limit: Int
}

/// Where the body of a request comes from.
protocol BodySource: Sendable {
    var client: String { get }
    func collect(upTo limit: Int) async throws -> ByteBuffer
    /// Without bytes: the end.
    func part(keeping most: Int) async throws -> ByteBuffer
    /// Without waiting; possibly nothing.
    func arrived(keeping most: Int) async -> ByteBuffer
    func stopReading()
    func tellProgress()
    func proceed() async throws
    func hangUp()
}

private final class WholeBody: BodySource {
    /// What has not been read.
    private let rest: Mutex<ByteBuffer>
    /// The request whose place it takes.
    private let connection: (any BodySource)?

    init(bytes: ByteBuffer, connection: (any BodySource)?) {
        rest = Mutex(bytes)
        self.connection = connection
    }

    var client: String { connection?.client ?? "" }

    func collect(upTo limit: Int) async throws -> ByteBuffer {
        let bytes = rest.withLock { $0 }
        guard bytes.readableBytes <= limit else { throw BodyTooLarge(limit: limit) }
        return bytes
    }

    func part(keeping most: Int) async throws -> ByteBuffer { await arrived(keeping: most) }

    func arrived(keeping most: Int) async -> ByteBuffer {
        rest.withLock { rest in
            defer { rest = ByteBuffer() }
            return rest
        }
    }

    func stopReading() { rest.withLock { $0 = ByteBuffer() } }

    func tellProgress() { connection?.tellProgress() }
    func proceed() async throws {}
    func hangUp() { connection?.hangUp() }
}
