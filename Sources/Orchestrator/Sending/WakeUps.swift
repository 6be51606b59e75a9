import Synchronization

/// Tells the dispatcher of this daemon that there is work, so that it need not wait for its next look at the database; or
/// hands it what was leased already.
///
/// Many signals before the dispatcher looks count as one. A lost signal costs one poll interval, never a change: the
/// `due_at` columns are the truth. A lost lease runs out.
final class WakeUps: Sendable {
    private struct State {
        /// Whether the database is to be looked at.
        var isLookWanted = false
        var handedOver: [LeasedSegment] = []
        /// How many more rings may be leased for the dispatcher: what its free workers can hold.
        var room = 0
        /// Whether there is a dispatcher.
        var isOpen = false
    }

    private let state = Mutex(State())
    private let own = WakeUps.makeSignal()
    private let others = WakeUps.makeSignal()

    private static func makeSignal() -> (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) {
        AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: For those who make work

    /// There is work that is due now. Call after the commit.
    func signal() {
        state.withLock { $0.isLookWanted = true }
        own.continuation.yield()
    }

    /// The same, and the other daemons are to be told, too (``WorkNotifications``).
    func signalAll() {
        signal()
        others.continuation.yield()
    }

    /// How many of so many rings may be leased and handed over; to be given back when they were.
    func reserve(_ count: Int) -> Int {
        state.withLock { state in
            let granted = state.isOpen ? max(min(count, state.room), 0) : 0
            state.room -= granted
            return granted
        }
    }

    func giveBack(_ room: Int) { state.withLock { $0.room += room } }

    /// So many rings fewer may be leased, until as much is given back: a worker has begun.
    func take(_ room: Int) { state.withLock { $0.room -= room } }

    /// These are leased, and to be served now. Call after the commit.
    func handOver(_ segments: [LeasedSegment]) {
        guard !segments.isEmpty else { return }
        state.withLock { state in
            state.handedOver += segments
            state.room -= segments.count
        }
        own.continuation.yield()
    }

    // MARK: For the dispatcher

    /// One element per burst of signals. For one consumer.
    var signals: AsyncStream<Void> { own.stream }

    /// From now on so many rings may be leased for the dispatcher; its workers take and give back what they hold of it.
    func open(room: Int) {
        state.withLock { state in
            state.room += room
            state.isOpen = true
        }
    }

    /// From now on nothing is handed over any more.
    ///
    /// - Returns: What was and has not been taken.
    func close() -> [LeasedSegment] {
        state.withLock { $0.isOpen = false }
        return takeLeases(.max)
    }

    /// Those that were handed over, at most so many; they make room for others when they are given to ``giveBack(_:)``.
    func takeLeases(_ limit: Int) -> [LeasedSegment] {
        state.withLock { state in
            let taken = Array(state.handedOver.prefix(limit))
            state.handedOver.removeFirst(taken.count)
            return taken
        }
    }

    /// Whether a look at the database is wanted; the question takes the wish as fulfilled.
    func takeLook() -> Bool {
        state.withLock { state in
            defer { state.isLookWanted = false }
            return state.isLookWanted
        }
    }

    /// A worker is free again: what was left for want of one can be gone on with.
    func goOn() { own.continuation.yield() }

    // MARK: For the notifications

    /// One element per burst of signals that concern other daemons. For one consumer.
    var signalsForOthers: AsyncStream<Void> { others.stream }
}
