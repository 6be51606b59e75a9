/// Decides who gets which connection. It is pure: events in, decisions out; it neither connects nor waits.
///
/// `slots` counts connections that are idle, lent or being opened, and never exceeds the maximum. A free slot goes to
/// the caller that has waited longest, with its connection or as the right to open one.
struct PoolMachine<Connection, Waiter> {
    private struct Idle {
        let connection: Connection
        let since: ContinuousClock.Instant
    }

    private struct Waiting {
        let waiter: Waiter
        let deadline: ContinuousClock.Instant
    }

    private let maximum: Int
    private var idle: [Idle] = []
    private(set) var slots = 0
    private var waiting: [UInt64: Waiting] = [:]
    /// Numbers in the order of arrival. Numbers that are no longer in `waiting` are skipped.
    private var order: [UInt64] = []
    private var orderStart = 0
    private var nextTimer: ContinuousClock.Instant?
    private(set) var isShutDown = false

    init(maximum: Int) {
        self.maximum = max(maximum, 1)
    }

    var idleCount: Int { idle.count }
    var waitingCount: Int { waiting.count }

    /// The grant for a request.
    enum Grant {
        case connection(Connection)
        /// The right and the duty to open a connection. It ends by `released` or `slotFreed`.
        case slot
        case closed
    }

    /// Handles a request for a connection. `nil`: all are in use.
    mutating func requested() -> Grant? {
        if isShutDown { return .closed }
        // The most recently used one is the most likely to work.
        if let last = idle.popLast() { return .connection(last.connection) }
        guard slots < maximum else { return nil }
        slots += 1
        return .slot
    }

    /// Adds a waiter. All wait equally long, so deadlines pass in the order of arrival.
    ///
    /// - Returns: When to call `deadlinePassed`; `nil` if a call is already scheduled.
    mutating func startedWaiting(
        _ waiter: Waiter,
        number: UInt64,
        until deadline: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
        waiting[number] = Waiting(waiter: waiter, deadline: deadline)
        order.append(number)
        guard nextTimer == nil else { return nil }
        nextTimer = deadline
        return deadline
    }

    /// Removes a waiter that gives up. `nil`: it has been served meanwhile.
    mutating func gaveUp(_ number: UInt64) -> Waiter? {
        waiting.removeValue(forKey: number)?.waiter
    }

    /// Handles the scheduled deadline.
    ///
    /// - Returns: The waiters whose time is up, and when to call again.
    mutating func deadlinePassed(
        at now: ContinuousClock.Instant
    ) -> (expired: [Waiter], next: ContinuousClock.Instant?) {
        var expired: [Waiter] = []
        while let first = firstWaiting(), first.deadline <= now, let waiter = nextWaiter() { expired.append(waiter) }
        nextTimer = firstWaiting()?.deadline
        return (expired, nextTimer)
    }

    /// What happens to a returned connection.
    enum Returned {
        case kept
        case handOver(Waiter)
        case close
    }

    /// Handles a usable connection that is returned, or that is new and whose caller no longer needs it.
    mutating func released(_ connection: Connection, at now: ContinuousClock.Instant) -> Returned {
        if isShutDown {
            slots -= 1
            return .close
        }
        if let waiter = nextWaiter() { return .handOver(waiter) }
        idle.append(Idle(connection: connection, since: now))
        return .kept
    }

    /// Handles a connection that broke or could not be opened.
    ///
    /// - Returns: The waiter that gets the slot.
    mutating func slotFreed() -> Waiter? {
        if !isShutDown, let waiter = nextWaiter() { return waiter }
        slots -= 1
        return nil
    }

    /// Takes a connection that has been idle since `limit`; it counts as lent.
    mutating func takeIdle(since limit: ContinuousClock.Instant) -> Connection? {
        guard let first = idle.first, first.since <= limit else { return nil }
        idle.removeFirst()
        return first.connection
    }

    /// Stops lending. Returns the idle connections to close and the waiters to dismiss.
    mutating func shutDown() -> (connections: [Connection], waiters: [Waiter]) {
        isShutDown = true
        let connections = idle.map(\.connection)
        let waiters = order[orderStart...].compactMap { waiting[$0]?.waiter }
        slots -= connections.count
        idle = []
        waiting = [:]
        order = []
        orderStart = 0
        return (connections, waiters)
    }

    /// Removes and returns the waiter that has waited longest.
    private mutating func nextWaiter() -> Waiter? {
        guard firstWaiting() != nil else { return nil }
        return waiting.removeValue(forKey: order[orderStart])?.waiter
    }

    /// The waiter that has waited longest; its number is then the first. Numbers of former waiters are removed.
    private mutating func firstWaiting() -> Waiting? {
        while orderStart < order.count {
            if let first = waiting[order[orderStart]] { return first }
            orderStart += 1
            if orderStart > order.count / 2 {
                order.removeFirst(orderStart)
                orderStart = 0
            }
        }
        return nil
    }
}
