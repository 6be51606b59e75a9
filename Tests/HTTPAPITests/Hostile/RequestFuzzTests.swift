import TestSupport
import Testing

@testable import HTTPAPI

/// Damaged requests, several on a connection, to a real server. What fails says its seed; `tools/fuzz --http --seed N`
/// replays it.
@Suite("Requests with random damage", .timeLimit(.minutes(10)))
struct RequestFuzzTests {
    /// The only key that there is: a damaged one must not turn out to be that of another app.
    private static let key = "publish@com.example.mine"
    private static let head = "Host: a\r\nAuthorization: Bearer \(key)\r\n"
    private static let body =
        #"{"content_state":{"score":1,"text":"é"},"urgency":"notable","at":"2026-01-01T00:00:00Z"}"#

    /// What callers with a key for one app send.
    private static let requests: [[UInt8]] = [
        "GET /v1/apps/com.example.mine/activities/a1?limit=10 HTTP/1.1\r\n\(head)\r\n",
        "POST /v1/apps/com.example.mine/activities/a1/updates HTTP/1.1\r\n\(head)Content-Type: application/json\r\n"
            + "Content-Length: \(body.utf8.count)\r\nIdempotency-Key: k\r\n\r\n\(body)",
        "POST /v1/apps/com.example.mine/batch HTTP/1.1\r\n\(head)Content-Type: application/json\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n"
            + "4a\r\n{\"operations\":[{\"op\":\"update\",\"id\":\"a1\",\"body\":{\"content_state\":{\"a\":1.0}}}\r\n2\r\n]}\r\n0\r\n\r\n",
        "GET /v1/events HTTP/1.1\r\n\(head)Accept: application/json\r\nLast-Event-ID: 7-1\r\n\r\n",
        "PUT /v1/apps/com.example.mine/devices/d%31 HTTP/1.1\r\n\(head)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    ].map { Array($0.utf8) }

    @Test("the server answers or closes, carries out nothing for another app, and goes on")
    func damaged() async throws {
        try await RawServer.with(keys: [Self.key], patience: .seconds(3)) { server in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (number, seed) in FuzzSeeds.range.enumerated() {
                    if number >= 16 { try await tasks.next() }
                    tasks.addTask {
                        var damage = RequestDamage(seed: seed)
                        let exchange = try await server.exchange(damage.requests(from: Self.requests))
                        // 500 would be a mistake of ours; 418 is what the service behind it says.
                        let isRight = exchange.statuses.allSatisfy {
                            (100..<500).contains($0) || $0 == 501 || $0 == 505
                        }
                        #expect(isRight, "seed \(seed): \(exchange.text.prefix(2_000))")
                    }
                }
                try await tasks.waitForAll()
            }
            let foreign = server.service.calls.filter { $0.contains("com.example") && !$0.contains("com.example.mine") }
            #expect(foreign == [])
            #expect(try await server.isWell())
        }
    }

    @Test("the same seed gives the same bytes")
    func repeatable() {
        let runs = (0..<2).map { _ in
            var damage = RequestDamage(seed: 42)
            return damage.requests(from: Self.requests)
        }
        #expect(runs[0] == runs[1])
    }
}

/// Turns requests into what a broken or hostile caller might send.
struct RequestDamage {
    private static let pieces: [String] = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", "%", "%00", "..", "/", "?", "#", "chunked", "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", "ffffffff\r\n", "Host: b\r\n", "HTTP/1.0", "HTTP/2.0", "GET",
        "PATCH",
        "\"", "\\", "\\u0000", "\\ud800", "{", "[", "1e999", "com.example.other", "admin", "é",
        "Connection: Upgrade\r\n",
        "Upgrade: h2c\r\n", "Connection: close\r\n", "Expect: x\r\n",
    ]

    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func requests(from whole: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            var request = whole.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 0...4, using: &random) { change(&request) }
            bytes += request
        }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let start = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 1...30, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.removeSubrange(start..<end)
        case 1:
            let flood = [[UInt8]](repeating: Array(bytes[start..<end]), count: .random(in: 1...2_000, using: &random))
            bytes.insert(contentsOf: flood.joined(), at: start)
        case 2: bytes[start] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 3: bytes.removeSubrange(start...)
        default: bytes.insert(contentsOf: (Self.pieces.randomElement(using: &random) ?? "").utf8, at: start)
        }
    }
}
