/// Who gets which connection. Pure: events in, decisions out; it neither connects nor waits.
///
/// `slots` counts connections that exist, are lent or are being made, and never passes the maximum. Whoever gives one
/// up passes it, or the right to make another, to the one who has waited longest.
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
    /// Numbers in the order of arrival; those no longer in `waiting` are skipped.
    private var order: [UInt64] = []
    private var orderStart = 0
    private var nextTimer: ContinuousClock.Instant?
    private(set) var isShutDown = false

    init(maximum: Int) {
        self.maximum = max(maximum, 1)
    }

    var idleCount: Int { idle.count }
    var waitingCount: Int { waiting.count }

    /// What one who wants a connection gets.
    enum Grant {
        case connection(Connection)
        /// The right, and the duty, to make one. Ends by `released` or `slotFreed`.
        case slot
        case closed
    }

    /// Somebody wants a connection. Nil: everything is in use.
    mutating func requested() -> Grant? {
        if isShutDown { return .closed }
        // The one used last is the most likely to be well.
        if let last = idle.popLast() { return .connection(last.connection) }
        guard slots < maximum else { return nil }
        slots += 1
        return .slot
    }

    /// Somebody starts to wait. All wait equally long, so that the first to come is the first whose time is up.
    ///
    /// - Returns: when `deadlinePassed` is to be called, if nothing was asked for before.
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

    /// Somebody does not want to wait any more. Nil: it has been served meanwhile.
    mutating func gaveUp(_ number: UInt64) -> Waiter? {
        waiting.removeValue(forKey: number)?.waiter
    }

    /// The time has come that was asked for.
    ///
    /// - Returns: those whose time is up, and when to call again.
    mutating func deadlinePassed(
        at now: ContinuousClock.Instant
    ) -> (expired: [Waiter], next: ContinuousClock.Instant?) {
        var expired: [Waiter] = []
        while let first = firstWaiting(), first.deadline <= now, let waiter = nextWaiter() { expired.append(waiter) }
        nextTimer = firstWaiting()?.deadline
        return (expired, nextTimer)
    }

    /// What becomes of a connection that is given back.
    enum Returned {
        case kept
        case handOver(Waiter)
        case close
    }

    /// A good connection comes back, or has just been made and is not wanted by its maker.
    mutating func released(_ connection: Connection, at now: ContinuousClock.Instant) -> Returned {
        if isShutDown {
            slots -= 1
            return .close
        }
        if let waiter = nextWaiter() { return .handOver(waiter) }
        idle.append(Idle(connection: connection, since: now))
        return .kept
    }

    /// A connection has broken, or could not be made.
    ///
    /// - Returns: who gets the slot.
    mutating func slotFreed() -> Waiter? {
        if !isShutDown, let waiter = nextWaiter() { return waiter }
        slots -= 1
        return nil
    }

    /// Takes an idle connection that nobody has used since `limit`; it counts as lent.
    mutating func takeIdle(since limit: ContinuousClock.Instant) -> Connection? {
        guard let first = idle.first, first.since <= limit else { return nil }
        idle.removeFirst()
        return first.connection
    }

    /// No more loans: idle connections are to be closed, those who wait are to be sent away.
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

    /// Takes the one who has waited longest.
    private mutating func nextWaiter() -> Waiter? {
        guard firstWaiting() != nil else { return nil }
        return waiting.removeValue(forKey: order[orderStart])?.waiter
    }

    /// The one who has waited longest, whose number is then the first; the numbers of those gone are forgotten.
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
