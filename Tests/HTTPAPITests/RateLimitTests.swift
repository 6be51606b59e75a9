import HTTPTypes
import JSON
import Testing

@testable import HTTPAPI

@Suite("Rate limits")
struct RateLimitTests {
    private let clock = ManualClock()

    private func api(_ rate: Int?) -> API {
        let clock = clock
        return API(limits: RateLimits(requestsPerSecond: rate) { clock.now })
    }

    @Test("A key may do at once what two seconds bring, then what each second brings; another key has its own")
    func rate() async throws {
        let api = api(5)
        for _ in 1...10 { #expect(try await api.send(.get, "/v1/apps").code == "reached") }
        let refused = try await api.send(.get, "/v1/apps")
        #expect(refused.status == 429)
        #expect(refused.code == "too_many_requests")
        #expect(refused.headers[.retryAfter] == "1")
        #expect(try await api.send(.get, "/v1/apps", key: "read").code == "reached")
        #expect(try await api.send(.get, "/health/live", key: nil).status == 200)
        clock.advance(by: .seconds(1))
        for _ in 1...5 { #expect(try await api.send(.get, "/v1/apps").code == "reached") }
        #expect(try await api.send(.get, "/v1/apps").status == 429)
        #expect(api.service.calls.count == 16, "What is refused is not looked at.")
    }

    @Test("A batch costs as much as its operations, and its caller waits for that afterwards")
    func batches() async throws {
        let api = api(5)
        let operations = Array(repeating: #"{"op":"end","id":"a","body":{}}"#, count: 30).joined(separator: ",")
        let body = #"{"operations":[\#(operations)]}"#
        #expect(try await api.send(.post, "/v1/apps/com.example.mine/batch", body: body).status == 200)
        let refused = try await api.send(.get, "/v1/apps")
        #expect(refused.headers[.retryAfter] == "5", "10 were there, 30 were taken, and 1 is needed.")
        clock.advance(by: .milliseconds(4_100))
        #expect(try await api.send(.get, "/v1/apps").status == 429)
        clock.advance(by: .milliseconds(200))
        #expect(try await api.send(.get, "/v1/apps").code == "reached")
    }

    @Test(
        "Every ticketed device has a small rate of its own, set or not, and takes nothing from keys and other devices",
        arguments: [nil, 1]
    )
    func tickets(rate: Int?) async throws {
        let api = api(rate)
        func report(_ device: String, _ ticket: String) async throws -> Answer {
            try await api.send(.put, "/v1/apps/com.example.mine/devices/" + device, key: ticket, body: Bodies.device)
        }
        for _ in 1...20 { #expect(try await report("d1", "ticket").code == "reached") }
        let refused = try await report("d1", "ticket")
        #expect(refused.status == 429)
        #expect(refused.code == "too_many_requests")
        #expect(refused.headers[.retryAfter] == "1")
        #expect(try await report("d2", "ticket-d2").code == "reached")
        #expect(try await api.send(.get, "/v1/apps").code == "reached")
        clock.advance(by: .seconds(1))
        for _ in 1...10 { #expect(try await report("d1", "ticket").code == "reached") }
        #expect(try await report("d1", "ticket").status == 429)
    }

    @Test("Keys that rest are forgotten when there are many; those in use are not")
    func manyKeys() throws {
        let clock = clock
        let limiter = RateLimiter(requestsPerSecond: 1) { clock.now }
        for number in 1...10_000 { try limiter.admit("k\(number)") }
        clock.advance(by: .milliseconds(500))
        try limiter.admit("k1")
        clock.advance(by: .milliseconds(600))
        try limiter.admit("new")
        // It had 1 and a half: not a full bucket, so it is still known.
        try limiter.admit("k1")
        #expect(throws: (any Error).self) { try limiter.admit("k1") }
    }
}
