import Foundation
import Testing

@testable import HTTPAPI

/// Requests of which a proxy and a server might think differently, and requests that are none.
@Suite("Raw requests", .timeLimit(.minutes(3)))
struct RawRequestTests {
    /// Bytes, and what is to come of them. Behind a refusal nothing is read as a request.
    struct Case: CustomTestStringConvertible, Sendable {
        let what: String
        let bytes: [UInt8]
        let statuses: [Int]

        init(_ what: String, _ text: String, _ statuses: Int...) {
            self.what = what
            bytes = Array(text.utf8)
            self.statuses = statuses
        }

        var testDescription: String { what }
    }

    private static let post =
        "POST /v1/api-keys HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin\r\nContent-Type: application/json\r\n"
    /// What must never be carried out where it stands in something else.
    private static let hidden =
        "DELETE /v1/apps/com.example.mine?confirm=com.example.mine HTTP/1.1\r\nHost: a\r\n"
        + "Authorization: Bearer admin\r\n\r\n"
    private static let key = #"{"name":"backend","scopes":["publish"]}"#

    private static func chunked(_ body: String) -> String { post + "Transfer-Encoding: chunked\r\n\r\n" + body }

    static let framing: [Case] = [
        Case("both lengths", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        Case(
            "both lengths, the other way",
            post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
            400
        ),
        Case("two lengths that differ", post + "Content-Length: 2\r\nContent-Length: 0\r\n\r\n{}" + hidden, 400),
        Case("two lengths in one field", post + "Content-Length: 2, 2\r\n\r\n{}" + hidden, 400),
        Case("a length with a sign", post + "Content-Length: +2\r\n\r\n{}" + hidden, 400),
        Case("a negative length", post + "Content-Length: -1\r\n\r\n" + hidden, 400),
        Case("a length in hex", post + "Content-Length: 0x2\r\n\r\n{}" + hidden, 400),
        Case("a length that no number holds", post + "Content-Length: 99999999999999999999999\r\n\r\n" + hidden, 400),
        Case("a length with a blank in it", post + "Content-Length: 1 2\r\n\r\n{}" + hidden, 400),
        Case("an unknown coding", post + "Transfer-Encoding: xchunked\r\n\r\n" + hidden, 400),
        Case("another coding before it", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        Case(
            "a coding twice",
            post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
            400
        ),
        Case("chunked not last", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden, 400),
        Case("a coding behind a fold", post + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        Case(
            "a coding behind a tabulator of another kind",
            post + "Transfer-Encoding:\u{B}chunked\r\n\r\n0\r\n\r\n" + hidden,
            400
        ),
        Case("a blank before the colon", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden, 400),
        Case("a field without a name", post + ": x\r\n\r\n" + hidden, 400),
        Case("a carriage return alone in a field", post + "X: a\rContent-Length: 0\r\n\r\n" + hidden, 400),
        Case("NUL in a field", post + "X: a\0b\r\n\r\n" + hidden, 400),
        Case("NUL in a name", post + "X\0: a\r\n\r\n" + hidden, 400),
        Case("a chunk whose size is no number", chunked("zz\r\n{}\r\n0\r\n\r\n" + hidden), 400),
        Case("a chunk whose size no number holds", chunked("FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n" + hidden), 400),
        Case("a chunk of negative size", chunked("-2\r\n{}\r\n0\r\n\r\n" + hidden), 400),
        Case("a chunk longer than it says", chunked("1\r\n{}\r\n0\r\n\r\n" + hidden), 400),
        Case("a chunk that ends in a line feed", chunked("2\n{}\r\n0\r\n\r\n" + hidden), 400),
    ]

    static let forms: [Case] = [
        Case("no HTTP", "hello\r\n\r\n", 400),
        Case("a version that is none", "GET / HTTP/1.1.1\r\nHost: a\r\n\r\n", 400),
        Case("HTTP/2 in the clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        Case("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}", 400),
        Case("a method that is none", "GE\u{0}T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Case("no host", "GET /health/live HTTP/1.1\r\n\r\n" + hidden, 400),
        Case("two hosts", "GET /health/live HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + hidden, 400),
        Case("the same host twice", "GET /health/live HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n" + hidden, 400),
        Case("a tunnel", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n" + hidden, 400),
        Case("a path with a line feed", "GET /v1/apps\nX: y HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Case("a path with NUL", "GET /v1/\0apps HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Case(
            "too many fields",
            "GET /v1/apps HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 200) + "\r\n",
            400
        ),
        Case(
            "fields too long",
            "GET /v1/apps HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "y", count: 100_000) + "\r\n\r\n",
            400
        ),
        Case(
            "fields too long together, each of them short and not too many",
            "GET /v1/apps HTTP/1.1\r\nHost: a\r\n"
                + String(repeating: "X: \(String(repeating: "y", count: 400))\r\n", count: 60) + "\r\n",
            400
        ),
        Case(
            "a head without end",
            "GET /v1/apps HTTP/1.1\r\nHost: a\r\n"
                + String(repeating: "X-\(String(repeating: "z", count: 90)): y\r\n", count: 20_000),
            400
        ),
        Case(
            "a path too long",
            "GET /" + String(repeating: "x", count: 1_000_000) + " HTTP/1.1\r\nHost: a\r\n\r\n",
            400
        ),
    ]

    @Test("Of a body whose end is not clear nothing is taken, and nothing behind it", arguments: framing)
    func ambiguous(_ request: Case) async throws { try await check(request) }

    @Test("What is no request is refused and the connection closed", arguments: forms)
    func malformed(_ request: Case) async throws { try await check(request) }

    private func check(_ request: Case) async throws {
        try await RawServer.with { server in
            let exchange = try await server.exchange(request.bytes)
            #expect(exchange.statuses == request.statuses, "\(exchange.text)")
            #expect(server.service.calls.isEmpty)
            #expect(try await server.isWell())
        }
    }

    @Test("Requests one behind the other are answered one by one, bodies in chunks as well as whole ones")
    func pipeline() async throws {
        try await RawServer.with { server in
            let size = String(Self.key.utf8.count, radix: 16)
            let chunks = Self.chunked("\(size);name=value\r\n\(Self.key)\r\n0\r\nX-Trailer: y\r\n\r\n")
            let whole = Self.post + "Content-Length: \(Self.key.utf8.count)\r\n\r\n\(Self.key)"
            let exchange = try await server.exchange(chunks + whole + chunks)
            #expect(exchange.statuses == [418, 418, 418])
            #expect(server.service.calls == Array(repeating: "createAPIKey backend", count: 3))
        }
    }

    @Test("A request that offers another protocol is answered in this one, and so is what follows")
    func upgrade() async throws {
        try await RawServer.with { server in
            let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
            let whole = Self.post + "\(offer)Content-Length: \(Self.key.utf8.count)\r\n\r\n\(Self.key)"
            let last = "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            let exchange = try await server.exchange(
                "GET /health/live HTTP/1.1\r\nHost: a\r\n\(offer)\r\n" + whole + whole + last
            )
            #expect(exchange.statuses == [200, 418, 418, 200])
            #expect(server.service.calls == Array(repeating: "createAPIKey backend", count: 2))
        }
    }

    @Test("A caller that waits is told to send its body, unless the head is enough for the answer")
    func expectations() async throws {
        try await RawServer.with { server in
            let expecting = Self.post + "Expect: 100-continue\r\n"
            let whole = expecting + "Content-Length: \(Self.key.utf8.count)\r\n\r\n\(Self.key)"
            let last = "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            #expect(try await server.exchange(whole + whole + last).statuses == [100, 418, 100, 418, 200])
            #expect(server.service.calls.count == 2)
            // Behind such an answer nothing is a request: it could be the body.
            for refused in [
                expecting + "Content-Length: 9999999\r\n\r\n",
                expecting.replacing("admin", with: "wrong") + "Content-Length: 5000\r\n\r\n",
                expecting.replacing("application/json", with: "text/plain") + "Content-Length: 5000\r\n\r\n",
            ] {
                let exchange = try await server.exchange(refused + Self.hidden)
                #expect(exchange.statuses.count == 1 && exchange.statuses[0] > 400, "\(exchange.text)")
                #expect(exchange.text.contains("connection: close"))
            }
            #expect(server.service.calls.count == 2)
        }
    }

    @Test("HEAD has no body, of public and of other paths, and what follows is answered")
    func head() async throws {
        try await RawServer.with { server in
            let exchange = try await server.exchange(
                "HEAD /health/live HTTP/1.1\r\nHost: a\r\n\r\nHEAD /v1/apps HTTP/1.1\r\nHost: a\r\n\r\n"
                    + "HEAD /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n"
                    + "GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            )
            #expect(exchange.statuses == [200, 401, 401, 200])
            let heads = exchange.text.components(separatedBy: "\r\n\r\n")
            #expect(heads.count == 5)
            #expect(heads.last == #"{"status":"live"}"#)
            #expect(heads.dropFirst().dropLast().allSatisfy { $0.hasPrefix("HTTP/1.1 ") })
        }
    }

    @Test("A body that stops in the middle is not carried out")
    func halfABody() async throws {
        try await RawServer.with(patience: .seconds(3)) { server in
            for half in [Self.post + "Content-Length: 100\r\n\r\n\(Self.key)", Self.chunked("64\r\n\(Self.key)")] {
                _ = try await server.exchange(half)
                #expect(server.service.calls.isEmpty)
            }
            #expect(try await server.isWell())
        }
    }

    @Test(
        "No way to write a path leads around the check of its app",
        arguments: [
            "/v1/apps/com.example.other", "//v1/apps/com.example.other", "/v1//apps/com.example.other",
            "/v1/apps/com.example.mine/../com.example.other", "/v1/apps/com.example.mine/%2e%2e/com.example.other",
            "/v1/apps/com.example.mine%2f..%2fcom.example.other", "/v1/apps/com.example%2eother",
            "/v1/apps/com.example.other%00", "/v1/apps/com.example.mine%00com.example.other",
            "/v1/apps/com.example.other;com.example.mine", "/v1/apps/COM.EXAMPLE.OTHER", "/v1/apps/com.example.other/",
            "http://com.example.mine/v1/apps/com.example.other",
            "/v1/apps/com.example.other?bundle_id=com.example.mine",
            "/v1/apps/com.example.other#/v1/apps/com.example.mine", "/v1/apps/%63om.example.other",
        ]
    )
    func paths(path: String) async throws {
        try await RawServer.with { server in
            for tail in ["", "/activities/a1", "/devices/d1"] {
                let exchange = try await server.exchange(
                    "GET \(path)\(tail) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer admin@com.example.mine\r\n"
                        + "X-Original-URL: /v1/apps/com.example.mine\r\nX-Forwarded-Prefix: /\r\nConnection: close\r\n\r\n"
                )
                #expect(exchange.statuses.count == 1)
                #expect(exchange.statuses.allSatisfy { (400..<500).contains($0) }, "\(exchange.text)")
                let calls = server.service.calls
                #expect(!calls.contains { $0.lowercased().contains("com.example.other") }, "\(calls)")
            }
        }
    }
}
