import Synchronization

/// Tells the dispatcher of this daemon that there is work, so that it need not wait for its next look at the database;
/// or hands it what was leased already.
///
/// Many signals before the dispatcher looks count as one. A lost signal costs one pause of ``DueWork``, never a change:
/// the `due_at` columns are the truth. A lost lease runs out.
package final class WakeUps: Sendable {
    fileprivate struct State {
        /// Whether the database is to be looked at.
        var isLookWanted = false
        /// The segments that wait for a worker, the longest first.
        var handedOver: [(segment: LeasedSegment, since: ContinuousClock.Instant)] = []
        /// How many rings may be leased for the dispatcher in all, whoever has them; none without one.
        var capacity = 0
        /// The segments that accepts are about to lease.
        var reserved = 0
        /// The segments that workers hold.
        var held = 0
        /// Whether some have waited for too long, and no worker has been free since.
        var isStalled = false

        /// How many more may be leased.
        var room: Int { isStalled ? 0 : max(capacity - reserved - handedOver.count - held, 0) }
    }

    private let state = Mutex(State())
    /// Whether this daemon can send what is handed over.
    private let canSend: @Sendable () -> Bool
    private let own = WakeUps.makeSignal()
    private let others = WakeUps.makeSignal()

    private static func makeSignal() -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    init(canSend: @escaping @Sendable () -> Bool = { true }) {
        self.canSend = canSend
    }

    // MARK: For those who make work

    /// There is work that is due now. Call after the commit.
    package func signal() {
        state.withLock { $0.isLookWanted = true }
        own.continuation.yield()
    }

    /// The same, and the other daemons are to be told, too (``WorkNotifications``).
    package func signalAll() {
        signal()
        others.continuation.yield()
    }

    /// Reserves room for rings to lease and hand over, and returns for how many. Give it back after the hand-over.
    package func reserve(_ count: Int) -> Int {
        guard canSend() else { return 0 }
        return state.withLock { state in
            let granted = min(count, state.room)
            state.reserved += granted
            return granted
        }
    }

    /// Ends a reservation: the caller leases no more of it.
    package func giveBack(_ room: Int) { state.withLock { $0.reserved -= room } }

    /// These are leased, and to be served now. Call after the commit.
    package func handOver(_ segments: [LeasedSegment], at now: ContinuousClock.Instant = .now) {
        guard !segments.isEmpty else { return }
        state.withLock { state in
            for segment in segments { state.handedOver.append((segment, now)) }
        }
        own.continuation.yield()
    }

    // MARK: For the dispatcher

    /// One element per burst of signals. For one consumer.
    package var signals: AsyncStream<Void> { own.stream }

    /// Sets how many rings may be leased for the dispatcher, including those that its workers hold.
    package func open(room: Int) { state.withLock { $0.capacity = room } }

    /// From now on nobody reserves room. Who had reserved some before may still hand over; nobody takes that, and its leases
    /// run out.
    ///
    /// - Returns: What was handed over and has not been taken.
    package func close() -> [LeasedSegment] {
        open(room: 0)
        return takeLeases(.max)
    }

    /// Takes at most `limit` segments that were handed over, for a free worker.
    package func takeLeases(_ limit: Int) -> [LeasedSegment] {
        state.withLock { state in
            state.isStalled = false
            return state.takeLeases(limit)
        }
    }

    /// Takes the segments that have waited since `then` or longer: no worker becomes free for them, and their leases
    /// are running out. Until a worker is free, no more segments are leased.
    package func takeOverdue(since then: ContinuousClock.Instant) -> [LeasedSegment] {
        state.withLock { state in
            let overdue = state.takeLeases(state.handedOver.prefix { $0.since <= then }.count)
            if !overdue.isEmpty { state.isStalled = true }
            return overdue
        }
    }

    /// A worker has begun with `count` rings.
    package func hold(_ count: Int) { state.withLock { $0.held += count } }

    /// A worker with `count` rings has ended, or only waits.
    package func letGo(_ count: Int) { state.withLock { $0.held -= count } }

    /// Whether a look at the database is wanted; the question takes the wish as fulfilled.
    package func takeLook() -> Bool {
        state.withLock { state in
            defer { state.isLookWanted = false }
            return state.isLookWanted
        }
    }

    /// A worker is free again: it can take the work that had no worker.
    package func goOn() { own.continuation.yield() }

    // MARK: For the notifications

    /// One element per burst of signals that concern other daemons. For one consumer.
    var signalsForOthers: AsyncStream<Void> { others.stream }
}

extension WakeUps.State {
    fileprivate mutating func takeLeases(_ limit: Int) -> [LeasedSegment] {
        let taken = handedOver.prefix(limit).map(\.segment)
        handedOver.removeFirst(taken.count)
        return taken
    }
}
