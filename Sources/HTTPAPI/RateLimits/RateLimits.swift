import APITypes
import ActivityModel
import Registry

/// The request limits of all callers. The configuration sets the limit of API keys. A ticket's limit is as much as the
/// app on one phone can need.
struct RateLimits: Sendable {
    /// The requests per second of one device with a ticket: enough to report itself and its cards.
    static let ticketRate = 10
    /// The open requests of one device with a ticket: enough to report itself and a few cards in parallel.
    static let openTicketRequests = 8

    private let keys: RateLimiter?
    private let tickets: RateLimiter
    private let open = OpenRequests(limit: Self.openTicketRequests)

    /// - Parameters:
    ///   - requestsPerSecond: the rate of one key, more than 0; nil: no limit.
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
    /// - Returns: For a ticket, the open request. The caller holds it until the answer.
    /// - Throws: 429 `too_many_requests` above the limit, with the time until the next request is allowed.
    func admit(_ principal: Principal) throws(Problem) -> OpenRequest? {
        guard let ticket = principal.ticket else {
            try keys?.admit(principal.keyID)
            return nil
        }
        // A bundle id contains no space, so the text names one device.
        let device = "\(ticket.app.rawValue) \(ticket.device.rawValue)"
        try tickets.admit(device)
        return try open.enter(device)
    }

    /// Counts the further operations of a batch. Tickets cannot send batches.
    func charge(_ principal: Principal, _ operations: Int) {
        keys?.charge(principal.keyID, operations)
    }

    /// Counts operations that can wait.
    ///
    /// - Returns: Nil, or how long to wait first. Nothing is counted then.
    func take(_ principal: Principal, _ operations: Int) -> Duration? {
        keys?.take(principal.keyID, operations)
    }

    /// The most operations of a key to take together; nil: no limit.
    var groupSize: Int? { keys?.groupSize }
}
