import LibPQ
import Reactor
import Synchronization

/// Runs the ``PoolMachine``: adds its lock, the waiting tasks and their deadlines.
final class Pool: Sendable {
    /// The result of a request for a connection.
    enum Outcome: Sendable {
        case session(Session)
        /// The right and the duty to open a connection.
        case slot
        case closed
        case timedOut
        case cancelled
    }

    fileprivate typealias Machine = PoolMachine<Session, CheckedContinuation<Outcome, Never>>

    fileprivate struct State {
        var machine: Machine
        var lastNumber: UInt64 = 0
        /// Callers that wait for the last loan to end.
        var drainers: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    private let loop: EventLoop

    init(maximum: Int, loop: EventLoop) {
        state = Mutex(State(machine: Machine(maximum: maximum)))
        self.loop = loop
    }

    var statistics: Database.Statistics {
        state.withLock {
            Database.Statistics(
                connections: $0.machine.slots,
                idle: $0.machine.idleCount,
                waiting: $0.machine.waitingCount
            )
        }
    }

    var isShutDown: Bool { state.withLock { $0.machine.isShutDown } }

    /// Returns a connection, or the right to open one, in the order of arrival.
    func acquire(until deadline: ContinuousClock.Instant) async -> Outcome {
        if let outcome = state.withLock({ $0.machine.requested().map(Outcome.init) }) { return outcome }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (outcome, timer) = state.withLock { state -> (Outcome?, ContinuousClock.Instant?) in
                    if let grant = state.machine.requested() { return (Outcome(grant), nil) }
                    return (nil, state.machine.startedWaiting(continuation, number: number, until: deadline))
                }
                if let outcome { continuation.resume(returning: outcome) }
                if let timer { expire(at: timer) }
                // A cancellation before the wait began has found no waiter.
                if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    /// Returns a usable connection to the pool.
    func release(_ session: Session) {
        let (returned, drainers) = state.withLock { state in
            (state.machine.released(session, at: .now), state.takeDrainers())
        }
        switch returned {
        case .kept: break
        case .handOver(let waiter): waiter.resume(returning: .session(session))
        case .close: session.close()
        }
        for drainer in drainers { drainer.resume() }
    }

    /// Frees the slot of a connection that broke or could not be opened.
    func freeSlot() {
        let (waiter, drainers) = state.withLock { state in (state.machine.slotFreed(), state.takeDrainers()) }
        waiter?.resume(returning: .slot)
        for drainer in drainers { drainer.resume() }
    }

    /// Takes a connection that has been idle since `limit`. Return it like a loan.
    func takeIdle(since limit: ContinuousClock.Instant) -> Session? {
        state.withLock { $0.machine.takeIdle(since: limit) }
    }

    /// Stops lending. Idle connections are closed, and waiting callers get an error.
    func shutDown() {
        let (connections, waiters) = state.withLock { $0.machine.shutDown() }
        for session in connections { session.close() }
        for waiter in waiters { waiter.resume(returning: .closed) }
    }

    /// After ``shutDown()``: waits until the last loan has ended, up to the timeout.
    func drain(timeout: Duration) async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if state.machine.slots == 0 { return true }
                state.drainers.append(continuation)
                return false
            }
            if isDrained { return continuation.resume() }
            let isAccepted = loop.execute { [self] in
                loop.schedule(after: timeout) { [self] in endDrain() }
            }
            if !isAccepted { endDrain() }
        }
    }

    private func endDrain() {
        let drainers = state.withLock { state in
            defer { state.drainers = [] }
            return state.drainers
        }
        for drainer in drainers { drainer.resume() }
    }

    private func giveUp(_ number: UInt64) {
        state.withLock { $0.machine.gaveUp(number) }?.resume(returning: .cancelled)
    }

    private func expire(at deadline: ContinuousClock.Instant) {
        loop.execute { [self] in
            loop.schedule(after: ContinuousClock.now.duration(to: deadline)) { [self] in
                let (expired, next) = state.withLock { $0.machine.deadlinePassed(at: .now) }
                for waiter in expired { waiter.resume(returning: .timedOut) }
                if let next { expire(at: next) }
            }
        }
    }
}

extension Pool.State {
    fileprivate mutating func takeDrainers() -> [CheckedContinuation<Void, Never>] {
        guard machine.isShutDown, machine.slots == 0 else { return [] }
        defer { drainers = [] }
        return drainers
    }
}

extension Pool.Outcome {
    fileprivate init<Waiter>(_ grant: PoolMachine<Session, Waiter>.Grant) {
        switch grant {
        case .connection(let session): self = .session(session)
        case .slot: self = .slot
        case .closed: self = .closed
        }
    }
}
