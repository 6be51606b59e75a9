import APITypes
import ActivityModel
import Orchestrator

/// How often callers may ask: API keys as often as the daemon's configuration says, bearers of tickets as often as the
/// app on one phone can want to.
struct RateLimits: Sendable {
    /// What one ticketed device may do in a second: report itself and its cards.
    static let ticketRate = 10

    private let keys: RateLimiter?
    private let tickets: RateLimiter

    /// - Parameters:
    ///   - requestsPerSecond: what one key may do, more than 0; nil: as much as it likes.
    ///   - now: the clock.
    init(
        requestsPerSecond: Int?,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        keys = requestsPerSecond.map { RateLimiter(requestsPerSecond: $0, now: now) }
        tickets = RateLimiter(requestsPerSecond: Self.ticketRate, now: now)
    }

    /// Counts a request. All tickets of one device are one caller.
    ///
    /// - Throws: 429 `too_many_requests` for one too many, with the time until there may be another.
    func admit(_ principal: Principal) throws(Problem) {
        guard let ticket = principal.ticket else {
            try keys?.admit(principal.keyID)
            return
        }
        // No id has a space in it.
        try tickets.admit("\(ticket.app.rawValue) \(ticket.device.rawValue)")
    }

    /// Counts what a request holds beyond the one operation that every request is; no ticket is good for such.
    func charge(_ principal: Principal, _ operations: Int) {
        keys?.charge(principal.keyID, operations)
    }
}
