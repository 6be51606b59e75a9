/// How many requests one connection may carry now. Pure: time is an argument.
///
/// With provider tokens Apple allows one stream until one request with a valid token has succeeded ("Establishing a
/// token-based connection to APNs"), so a new connection carries one request at a time until an answer proves its token.
struct ConnectionStateMachine {
    enum Phase: Equatable {
        case connecting
        /// Open, its token unproven. `since` is when its first request left.
        case proving(since: ContinuousClock.Instant?)
        case serving
        /// Takes nothing new; what is open may be answered.
        case draining
    }

    private(set) var phase = Phase.connecting
    /// Whether it ever answered anything.
    private(set) var hasAnswered = false
    /// Whether a sign of life is overdue; no request until it came.
    private(set) var isSuspect = false
    /// Our own limit below the server's, after a stream was refused.
    private var limit = Int.max
    private var heldUntil: ContinuousClock.Instant?
    /// When it last carried a request, or came up.
    private(set) var lastUse: ContinuousClock.Instant
    private var lastPing: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) {
        lastUse = now
        lastPing = now
    }

    /// TLS is up and the server's limits are known.
    mutating func connected(now: ContinuousClock.Instant) {
        guard phase == .connecting else {
            return
        }
        phase = .proving(since: nil)
        lastUse = now
    }

    /// How many more requests it takes now, with `open` under way and `available` more allowed by the server.
    func room(open: Int, available: Int, now: ContinuousClock.Instant) -> Int {
        guard !isSuspect, heldUntil.map({ now >= $0 }) ?? true else {
            return 0
        }
        switch phase {
        case .connecting, .draining: return 0
        case .proving: return open == 0 ? min(1, available) : 0
        case .serving: return max(0, min(available, limit - open))
        }
    }

    /// Requests have left.
    mutating func sent(now: ContinuousClock.Instant) {
        lastUse = now
        if phase == .proving(since: nil) {
            phase = .proving(since: now)
        }
    }

    /// An answer came. Whether it is the one that proves the token: 200, or anything but 403.
    @discardableResult
    mutating func answered(status: Int) -> Bool {
        hasAnswered = true
        isSuspect = false
        if limit < Int.max {
            limit += 1
        }
        guard case .proving = phase else {
            return false
        }
        guard status != 403 else {
            phase = .proving(since: nil)
            return false
        }
        phase = .serving
        return true
    }

    /// The server refused a stream while `open` others were under way: pause, then go on with no more than those.
    mutating func refused(open: Int, until pause: ContinuousClock.Instant) {
        limit = max(1, min(limit, open))
        heldUntil = pause
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
}
