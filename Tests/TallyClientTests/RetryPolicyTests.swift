import APITypes
import Testing

@testable import TallyClient

@Suite("Retry policy")
struct RetryPolicyTests {
    private let policy = RetryPolicy(firstDelay: .milliseconds(100), longestDelay: .seconds(2))

    @Test(
        "the wait doubles from the first to the longest",
        arguments: [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1_600), (6, 2_000), (60, 2_000)]
    )
    func doubling(failures: Int, milliseconds: Int) {
        #expect(policy.delay(afterFailures: failures, jitter: 0) == .milliseconds(milliseconds))
    }

    @Test("jitter takes at most half of it")
    func jitter() {
        #expect(policy.delay(afterFailures: 3, jitter: 1) == .milliseconds(200))
    }

    @Test("what the server asks for is never undercut, and never shortens the wait")
    func retryAfter() {
        #expect(policy.delay(afterFailures: 1, jitter: 0.5, retryAfter: 7) == .seconds(7))
        #expect(policy.delay(afterFailures: 5, jitter: 0, retryAfter: 0) == .milliseconds(1_600))
    }

    @Test(
        "only answers that say 'later' are tried again",
        arguments: [
            (429, "too_many_must_deliver", true), (503, "unavailable", true), (502, nil, true), (504, nil, true),
            (409, "idempotency_in_progress", true), (409, "idempotency_key_reused", false), (409, "late_event", false),
            (500, "internal_error", false), (422, "invalid_request", false), (401, "unauthorized", false),
            (404, "not_found", false),
        ]
    )
    func statuses(status: Int, code: String?, again: Bool) {
        #expect(RetryPolicy.asksForRetry(status: status, code: code) == again)
    }
}

@Suite("Targets of requests")
struct APICallTests {
    @Test("query values are percent-encoded and absent ones left out")
    func query() {
        let call = APICall.get("/v1/apps", query: [("limit", "7"), ("cursor", "a+b/ü="), ("type", nil)])
        #expect(call.target == "/v1/apps?limit=7&cursor=a%2Bb%2F%C3%BC%3D")
        #expect(APICall.get("/v1/apps").target == "/v1/apps")
    }
}
