import DeliveryStore
import Synchronization

/// How many more workers may begin. Half of them at most serve further rings of activities, so that a few large ones
/// leave room for the others.
///
/// A slot is for a worker that works. A worker that only waits for answers loses its slot (``takeBackSilent()``). So a
/// silent part of APNs (an environment, an API, a team) holds up no work for another part.
final class WorkerSlots: Sendable {
    /// The most rings, for each slot, that wait for answers without a slot. When APNs answers again, or is given up,
    /// the outcomes of all of them are stored at the same time.
    private static let mostWaiting = 256
    /// The most segments that a worker is given at once.
    static let mostHeld = 64
    /// The fewest rings that a waiting worker counts as: it keeps its lease alive with a statement of its own.
    fileprivate static let leastWaiting = 8

    private struct State {
        var free: Int
        var freeForFurther: Int
        /// How many more rings may wait without a slot.
        var freeForWaiting: Int
        var held: [ObjectIdentifier: WorkerSlot] = [:]

        mutating func change(by difference: Int, isFurther: Bool) {
            free += difference
            if isFurther { freeForFurther += difference }
        }
    }

    private let state: Mutex<State>
    /// All rings of workers with a slot, and those that accepts lease, are what the slots can hold.
    private let wakeUps: WakeUps

    init(_ count: Int, wakeUps: WakeUps) {
        state = Mutex(
            State(free: count, freeForFurther: max(count / 2, 1), freeForWaiting: count * Self.mostWaiting)
        )
        self.wakeUps = wakeUps
        wakeUps.open(room: count * Self.mostHeld)
    }

    /// Less than 0 when a further ring was taken with the last.
    var free: Int { state.withLock { $0.free } }

    /// Whether no worker has one.
    var isIdle: Bool { state.withLock { $0.held.isEmpty } }

    var mayTakeFurtherRing: Bool { state.withLock { $0.freeForFurther > 0 } }

    /// Whether somebody else could begin who needs a place like this one.
    fileprivate func hasFree(like slot: WorkerSlot) -> Bool {
        state.withLock { $0.free > 0 && (!slot.isFurther || $0.freeForFurther > 0) }
    }

    /// Takes a slot for a worker with `count` segments.
    func take(isFurther: Bool = false, holding count: Int) -> WorkerSlot {
        let slot = WorkerSlot(isFurther: isFurther, count, of: self)
        state.withLock { state in
            state.change(by: -1, isFurther: isFurther)
            state.held[ObjectIdentifier(slot)] = slot
        }
        wakeUps.hold(count)
        return slot
    }

    /// The worker has ended.
    func giveBack(_ slot: WorkerSlot) {
        let isHeld = state.withLock { state in
            let isHeld = state.held.removeValue(forKey: ObjectIdentifier(slot)) != nil
            if isHeld {
                state.change(by: 1, isFurther: slot.isFurther)
            } else {
                state.freeForWaiting += slot.weight
            }
            return isHeld
        }
        if isHeld { wakeUps.letGo(slot.count) }
    }

    /// Takes the slots of workers that have only waited since the last calls. Call it at an even pace.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    func takeBackSilent() -> Bool {
        let (slots, count) = state.withLock { state in
            var (slots, count) = (0, 0)
            for (id, slot) in state.held {
                let isSilent = slot.endInterval()
                guard isSilent, state.freeForWaiting >= slot.weight else { continue }
                state.held[id] = nil
                state.change(by: 1, isFurther: slot.isFurther)
                state.freeForWaiting -= slot.weight
                slot.isLost.store(true, ordering: .relaxed)
                slots += 1
                count += slot.count
            }
            return (slots, count)
        }
        wakeUps.letGo(count)
        return slots > 0
    }
}

/// A worker's place among those that may work at the same time.
final class WorkerSlot: Sendable {
    /// The number of intervals without a sign of life, from APNs or from the worker, after which the worker counts as
    /// one that only waits.
    private static let patience = 2

    private struct State {
        /// Calls without an answer.
        var open = 0
        var hasMoved = false
        var silence = 0
    }

    let isFurther: Bool
    /// The segments of its worker.
    fileprivate let count: Int
    /// Among which it is, until it is given back.
    private let slots: WorkerSlots
    private let state = Mutex(State())
    /// Whether it was taken from the worker, which is to end when it is answered.
    fileprivate let isLost = Atomic(false)

    fileprivate init(isFurther: Bool, _ count: Int, of slots: WorkerSlots) {
        self.isFurther = isFurther
        self.count = count
        self.slots = slots
    }

    /// The weight of its worker while that waits without the slot.
    fileprivate var weight: Int { max(count, WorkerSlots.leastWaiting) }

    /// Whether its worker is to end with the turn that it is at, for others to begin.
    var mustYield: Bool { isLost.load(ordering: .relaxed) }

    /// Whether others may want for the place of its worker.
    var isWanted: Bool { !slots.hasFree(like: self) }

    /// A call has left (1) or was answered (-1).
    func move(_ difference: Int) {
        state.withLock { state in
            state.open += difference
            state.hasMoved = true
        }
    }

    /// Ends an interval.
    ///
    /// - Returns: Whether the worker has only waited for some of them.
    func endInterval() -> Bool {
        state.withLock { state in
            state.silence = state.open > 0 && !state.hasMoved ? state.silence + 1 : 0
            state.hasMoved = false
            return state.silence >= Self.patience
        }
    }
}

/// The slot of whoever works; nil where no worker does.
extension WorkerSlot? {
    /// Waits for an answer of APNs.
    func awaiting<Answer: Sendable>(_ answer: () async throws -> Answer) async rethrows -> Answer {
        guard let slot = self else { return try await answer() }
        slot.move(1)
        defer { slot.move(-1) }
        return try await answer()
    }
}
