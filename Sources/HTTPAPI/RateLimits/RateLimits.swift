import APITypes
import ActivityModel
import Orchestrator

/// How often callers may ask: API keys as often as the daemon's configuration says, bearers of tickets as often as the
/// app on one phone can want to.
struct RateLimits: Sendable {
    /// What one ticketed device may do in a second: report itself and its cards.
    static let ticketRate = 10
    /// How many requests of one ticketed device may be under way: it reports itself and a few cards side by side.
    static let openTicketRequests = 8

    private let keys: RateLimiter?
    private let tickets: RateLimiter
    private let open = OpenRequests(limit: Self.openTicketRequests)

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
    /// - Returns: With a ticket, the place that the request takes among those under way.
    /// - Throws: 429 `too_many_requests` for one too many, with the time until there may be another.
    func admit(_ principal: Principal) throws(Problem) -> OpenRequest? {
        guard let ticket = principal.ticket else {
            try keys?.admit(principal.keyID)
            return nil
        }
        // No id has a space in it.
        let device = "\(ticket.app.rawValue) \(ticket.device.rawValue)"
        try tickets.admit(device)
        return try open.enter(device)
    }

    /// Counts what a request holds beyond the one operation that every request is; no ticket is good for such.
    func charge(_ principal: Principal, _ operations: Int) {
        keys?.charge(principal.keyID, operations)
    }
}
