/// How many requests one connection may carry now. Pure: time is an argument.
///
/// With provider tokens Apple allows one stream until one request with a valid token has succeeded ("Establishing a
/// token-based connection to APNs"), so a new connection carries one request at a time until an answer proves its
/// token.
struct ConnectionStateMachine {
    enum Phase: Equatable {
        case connecting
        /// Open, its token unproven. `since` is when its first request left.
        case proving(since: ContinuousClock.Instant?)
        case serving
        /// Takes nothing new; what is open may be answered.
        case draining
    }

    /// So many refusals in a row, with ever longer pauses between them, and the connection is replaced.
    static let maximumRefusals = 8

    private(set) var phase = Phase.connecting
    /// When it was begun.
    let opened: ContinuousClock.Instant
    /// When TLS was up and the server's limits were known; nil before.
    private(set) var connectedAt: ContinuousClock.Instant?
    /// How long it took, without idle time, until it was ready for many requests; nil before.
    private(set) var openingTime: Duration?
    /// Whether a sign of life is overdue; no request until it came.
    private(set) var isSuspect = false
    /// Our own limit below the server's, after a stream was refused.
    private var limit = Int.max
    private var refusals = 0
    private var heldUntil: ContinuousClock.Instant?
    /// When it last carried a request, or came up.
    private(set) var lastUse: ContinuousClock.Instant
    private var lastPing: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) {
        opened = now
        lastUse = now
        lastPing = now
    }

    /// TLS is up and the server's limits are known.
    mutating func connected(now: ContinuousClock.Instant) {
        guard phase == .connecting else {
            return
        }
        phase = .proving(since: nil)
        connectedAt = now
        lastUse = now
    }

    /// How many more requests it takes now, with `open` under way and `available` more allowed by the server.
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

    /// How many requests at once it helps with, where the server allows `maximum`.
    func capacity(maximum: Int, now: ContinuousClock.Instant) -> Int {
        phase == .serving && !isSuspect && !isHeld(now: now) ? min(maximum, limit) : 0
    }

    /// Requests have left.
    mutating func sent(now: ContinuousClock.Instant) {
        lastUse = now
        if phase == .proving(since: nil) {
            phase = .proving(since: now)
        }
    }

    /// An answer came. Whether it is the one that proves the token.
    ///
    /// `now` is looked at only while the token is unproven.
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

    /// Whether APNs looked at the request itself, which it does for a valid token only.
    ///
    /// A refused token is 403, one of too many is 429, and a server in trouble (5xx) may not have looked at all.
    private static func provesToken(_ status: Int) -> Bool {
        (200..<300).contains(status) || status == 400 || status == 410
    }

    /// The server refused a stream while `open` others were under way: pause, then go on with no more than those.
    ///
    /// The first pause lasts for `pause`; each further one without an answer between lasts twice as long.
    ///
    /// - Returns: the end of the pause; nil if the connection has refused too often and is to be replaced.
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

    /// It is to take nothing new. False if that was so already.
    mutating func retire() -> Bool {
        guard phase != .draining else {
            return false
        }
        phase = .draining
        return true
    }

    /// A request of it stayed without an answer: true if it is to be asked for a sign of life now.
    mutating func suspect() -> Bool {
        guard !isSuspect, phase != .connecting else {
            return false
        }
        isSuspect = true
        return true
    }

    /// The sign of life came.
    mutating func isAlive(now: ContinuousClock.Instant) {
        isSuspect = false
        lastPing = now
    }

    /// Whether it has been idle so long that it is to be asked for a sign of life; counts as asked then.
    mutating func isPingDue(now: ContinuousClock.Instant, interval: Duration) -> Bool {
        guard phase == .serving || phase == .proving(since: nil),
            max(lastUse, lastPing).duration(to: now) >= interval
        else {
            return false
        }
        lastPing = now
        return true
    }

    /// Whether it keeps others from being opened: it may turn out to be enough.
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
