import APITypes
import HTTPTypes
import JSON
import Registry
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

    @Test("Of one device few requests are under way at a time; each that is over makes room")
    func openRequests() throws {
        let requests = OpenRequests(limit: 2)
        var first: OpenRequest? = try requests.enter("d1")
        let second = try requests.enter("d1")
        let other = try requests.enter("d2")
        let refused = #expect(throws: Problem.self) { try requests.enter("d1") }
        #expect(refused?.status == 429)
        #expect(refused?.code == "too_many_requests")
        #expect(refused?.detail == "This device has 2 requests under way; wait for an answer before the next one.")
        #expect(refused?.retryAfter == 1)
        _ = first
        first = nil
        let third = try requests.enter("d1")
        #expect(throws: Problem.self) { try requests.enter("d1") }
        withExtendedLifetime((second, other, third)) {}
    }

    @Test("A ticket counts among the requests of its device until it is answered, a key does not")
    func admission() throws {
        let clock = clock
        let limits = RateLimits(requestsPerSecond: nil) { clock.now }
        let ticket = Principal(ticket: RecordingService.ticket(for: "d1"))
        var open = try (1...8).map { _ in try limits.admit(ticket) }
        #expect(open.allSatisfy { $0 != nil })
        #expect(throws: Problem.self) { try limits.admit(ticket) }
        let another = try limits.admit(Principal(ticket: RecordingService.ticket(for: "d2")))
        open.removeLast()
        open.append(try limits.admit(ticket))
        let key = Principal(keyID: "k", scopes: [.register], app: nil)
        for _ in 1...100 { #expect(try limits.admit(key) == nil) }
        withExtendedLifetime((open, another)) {}
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
