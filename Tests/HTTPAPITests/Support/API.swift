import HTTP1Server
import HTTPTypes
import JSON
import Logging
import NIOCore
import Synchronization
import TestSupport

@testable import HTTPAPI

/// The whole API in memory: requests take every step from head to answer, without a socket.
struct API {
    let service = RecordingService()
    let metrics = PrometheusMetrics()
    let log = LogLines()
    private let responder: Responder

    /// Before the real service.
    init(over real: any TallyService) {
        let limits = RateLimits(requestsPerSecond: nil)
        let table = RouteTable.api(service: real, metrics: metrics, limits: limits)
        responder = Responder(table, service: real, maximumBodySize: 1 << 20, limits: limits, logger: log.logger)
    }

    init(
        maximumBodySize: Int = 1 << 20,
        limits: RateLimits = RateLimits(requestsPerSecond: nil),
        turns: ReadingTurns = .ofThisMachine()
    ) {
        let table = RouteTable.api(service: service, metrics: metrics, limits: limits, turns: turns)
        responder = Responder(
            table,
            service: service,
            maximumBodySize: maximumBodySize,
            limits: limits,
            logger: log.logger
        )
    }

    /// Sends a request. With a body it says that the body is JSON, unless the headers say something else.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        key: String? = "admin",
        body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        var fields = headers
        if let key { fields[.authorization] = "Bearer \(key)" }
        if let body {
            if !fields.contains(.contentLength) { fields[.contentLength] = String(body.utf8.count) }
            if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
        }
        let call = HTTPCall(
            head: HTTPRequest(method: method, scheme: "http", authority: "tally", path: path, headerFields: fields),
            body: ByteBuffer(string: body ?? "")
        )
        let answer = try await responder.respond(to: call)
        let writer = BodyCollector()
        switch answer.body {
        case .bytes(let bytes): try await writer.write(bytes)
        case .stream(let write): try await write(writer)
        case .none: break
        }
        return Answer(status: answer.status.code, headers: answer.headers, body: writer.text)
    }
}

/// What came back.
struct Answer {
    let status: Int
    let headers: HTTPFields
    let body: String

    var json: JSONValue? { try? JSONValue(parsing: body) }
    /// The `code` of a problem; nil unless it is sent as one.
    var code: String? {
        headers[.contentType] == "application/problem+json" ? json?["code"]?.string : nil
    }
    var detail: String? { json?["detail"]?.string }
}

/// What is written of a body.
final class BodyCollector: BodyWriter {
    private let buffer = Mutex(ByteBuffer())

    var text: String { buffer.withLock { String(buffer: $0) } }

    func write(_ part: ByteBuffer) async throws {
        buffer.withLock { _ = $0.writeImmutableBuffer(part) }
    }
}
