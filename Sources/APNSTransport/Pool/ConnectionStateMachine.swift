/// Decides how many requests one connection may carry now. It is pure: time is an argument.
///
/// With provider tokens, Apple allows one stream until one request with a valid token has succeeded ("Establishing a
/// token-based connection to APNs"). So a new connection carries one request at a time until an answer proves its
/// token.
struct ConnectionStateMachine {
    enum Phase: Equatable {
        case connecting
        /// Open, but the token is not proven. `since`: when its first request left.
        case proving(since: ContinuousClock.Instant?)
        case serving
        /// Accepts no more requests; open ones may be answered.
        case draining
    }

    /// The number of refusals in a row, with growing pauses, after which the connection is replaced.
    static let maximumRefusals = 8

    private(set) var phase = Phase.connecting
    /// When the connection attempt began.
    let opened: ContinuousClock.Instant
    /// When TLS was ready and the server's limits were known; `nil` before.
    private(set) var connectedAt: ContinuousClock.Instant?
    /// The time until it was ready for many requests, without idle time; `nil` before.
    private(set) var openingTime: Duration?
    /// Whether a PING is unanswered. Until then no request is sent.
    private(set) var isSuspect = false
    /// This side's own limit below the server's, after a stream was refused.
    private var limit = Int.max
    private var refusals = 0
    private var heldUntil: ContinuousClock.Instant?
    /// When it last carried a request or became ready.
    private(set) var lastUse: ContinuousClock.Instant
    private var lastPing: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) {
        opened = now
        lastUse = now
        lastPing = now
    }

    /// Records that TLS is ready and the server's limits are known.
    mutating func connected(now: ContinuousClock.Instant) {
        guard phase == .connecting else {
            return
        }
        phase = .proving(since: nil)
        connectedAt = now
        lastUse = now
    }

    /// How many more requests it accepts now. `open` are in progress, and the server allows `available` more.
    func room(open: Int, available: Int, now: ContinuousClock.Instant) -> Int {
        guard !isSuspect, !isHeld(now: now) else {
            return 0
        }
        switch phase {
        case .connecting, .draining: return 0
        case .proving: return open == 0 ? min(1, available) : 0
        case .serving: return max(0, min(available, limit - open))
        }
    }

    /// How many concurrent requests it adds to the pool, if the server allows `maximum`.
    func capacity(maximum: Int, now: ContinuousClock.Instant) -> Int {
        phase == .serving && !isSuspect && !isHeld(now: now) ? min(maximum, limit) : 0
    }

    /// Records that requests have left.
    mutating func sent(now: ContinuousClock.Instant) {
        lastUse = now
        if phase == .proving(since: nil) {
            phase = .proving(since: now)
        }
    }

    /// Records an answer. Returns whether it is the one that proves the token.
    ///
    /// `now` is evaluated only while the token is unproven.
    @discardableResult
    mutating func answered(status: Int, now: @autoclosure () -> ContinuousClock.Instant) -> Bool {
        isSuspect = false
        refusals = 0
        if limit < Int.max {
            limit += 1
        }
        guard case .proving(let since) = phase else {
            return false
        }
        guard Self.provesToken(status) else {
            phase = .proving(since: nil)
            return false
        }
        let now = now()
        openingTime = opened.duration(to: connectedAt ?? now) + (since?.duration(to: now) ?? .zero)
        phase = .serving
        return true
    }

    /// Whether APNs has examined the request itself, which it does only for a valid token.
    ///
    /// A refused token gets 403, too many requests get 429, and a failing server (5xx) may not have examined the
    /// request.
    private static func provesToken(_ status: Int) -> Bool {
        (200..<300).contains(status) || status == 400 || status == 410
    }

    /// Handles a refused stream while `open` others were in progress: pauses, then allows at most that many.
    ///
    /// The first pause lasts `pause`. Each further one without an answer in between lasts twice as long.
    ///
    /// - Returns: The end of the pause; `nil` if the connection has refused too often and must be replaced.
    mutating func refused(
        open: Int,
        now: ContinuousClock.Instant,
        pause: Duration
    ) -> ContinuousClock.Instant? {
        limit = max(1, min(limit, open))
        // Streams that left together are refused together.
        if let heldUntil, now < heldUntil {
            return heldUntil
        }
        refusals += 1
        guard refusals < Self.maximumRefusals else {
            return nil
        }
        let end = now + pause * (1 << (refusals - 1))
        heldUntil = end
        return end
    }

    /// Retires the connection. False if it was already retired.
    mutating func retire() -> Bool {
        guard phase != .draining else {
            return false
        }
        phase = .draining
        return true
    }

    /// Records a request without an answer. Returns whether to send a PING now.
    mutating func suspect() -> Bool {
        guard !isSuspect, phase != .connecting else {
            return false
        }
        isSuspect = true
        return true
    }

    /// Records the answer to a PING.
    mutating func isAlive(now: ContinuousClock.Instant) {
        isSuspect = false
        lastPing = now
    }

    /// Whether it has been idle so long that a PING is due. It then counts as sent.
    mutating func isPingDue(now: ContinuousClock.Instant, interval: Duration) -> Bool {
        guard phase == .serving || phase == .proving(since: nil),
            max(lastUse, lastPing).duration(to: now) >= interval
        else {
            return false
        }
        lastPing = now
        return true
    }

    /// Whether it delays the opening of others, because it may prove to be enough.
    func isPromising(now: ContinuousClock.Instant, patience: Duration) -> Bool {
        switch phase {
        case .connecting: true
        case .proving(let since): !isSuspect && (since.map { $0.duration(to: now) < patience } ?? true)
        case .serving, .draining: false
        }
    }

    private func isHeld(now: ContinuousClock.Instant) -> Bool {
        heldUntil.map { now < $0 } ?? false
    }
}
