import APITypes
import Cryptography
import HTTP1Server
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI

/// What the console takes of a request's body.
@Suite("Bodies for the console")
struct ConsoleBodyTests {
    private let seal: SessionSeal
    private let mount: ConsoleMount

    init() throws {
        seal = try SessionSeal(masterKeys: [SymmetricKey.generate()])
        let service = RecordingService()
        let limits = RateLimits(requestsPerSecond: nil)
        let responder = Responder(
            RouteTable.api(service: service, metrics: PrometheusMetrics(), limits: limits),
            service: service,
            maximumBodySize: 1 << 20,
            limits: limits,
            logger: LogLines().logger
        )
        mount = ConsoleMount(console: Console(seal: seal), responder: responder, service: service)
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        cookie: String? = nil,
        bytes count: Int
    ) async throws -> HTTPAnswer {
        var fields: HTTPFields = [:]
        if let cookie { fields[.cookie] = cookie }
        let head = HTTPRequest(method: method, scheme: "http", authority: "tally", path: path, headerFields: fields)
        let body = "x=" + String(repeating: "y", count: count - 2)
        return try await mount.respond(to: HTTPCall(head: head, body: ByteBuffer(string: body)))
    }

    @Test("A form has 16 KiB from anybody, 64 KiB from a visitor and 256 KiB with a session")
    func limits() async throws {
        let end = Instant(unixSeconds: 4_000_000_000)
        let session = try seal.seal(ConsoleSession(id: "1", secret: "admin", expiresAt: end), for: .session)
        let senders: [(cookie: String?, most: Int, status: Int)] = [
            (nil, 16 << 10, 401), ("tally-session=forged", 16 << 10, 401), ("tally-visitor=forged", 16 << 10, 401),
            ("tally-visitor=\(seal.visitor())", 64 << 10, 401),
            // It has no token.
            ("tally-session=\(session)", 256 << 10, 403),
        ]
        for (cookie, most, status) in senders {
            let taken = try await send(.post, "/console/activity/change", cookie: cookie, bytes: most)
            #expect(taken.status.code == status, "\(cookie ?? "none")")
            let refused = try await send(.post, "/console/activity/change", cookie: cookie, bytes: most + 1)
            #expect(refused.status.code == 413, "\(cookie ?? "none")")
            #expect(refused.headers[.contentSecurityPolicy]?.contains("frame-ancestors 'none'") == true)
        }
    }

    @Test("Only a form has a body that is read")
    func otherMethods() async throws {
        let cases: [(HTTPRequest.Method, Int)] = [(.get, 200), (.head, 200), (.put, 405), (.delete, 405)]
        for (method, status) in cases {
            let answer = try await send(method, "/console/sign-in", bytes: 1 << 20)
            #expect(answer.status.code == status, "\(method)")
        }
    }
}
