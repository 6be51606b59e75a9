import Synchronization

/// How many more workers may begin. Half of them at most serve further rings of activities, so that a few large ones leave
/// room for the others.
///
/// A slot is for who works. Who does nothing but wait for answers gives his back (``takeBackSilent()``), so that a place of
/// APNs that is silent (an environment, an API, a team) holds up nobody who has to do with another.
final class WorkerSlots: Sendable {
    /// Workers that wait for answers without a slot, for each slot there is, at most: each keeps its lease alive.
    private static let mostWaiting = 32

    private struct State {
        var free: Int
        var freeForFurther: Int
        /// How many more may wait without a slot.
        var freeForWaiting: Int
        var held: [ObjectIdentifier: WorkerSlot] = [:]

        mutating func change(by difference: Int, isFurther: Bool) {
            free += difference
            if isFurther { freeForFurther += difference }
        }
    }

    private let state: Mutex<State>
    /// What accepts may lease is what there are slots for.
    private let wakeUps: WakeUps

    init(_ count: Int, wakeUps: WakeUps) {
        state = Mutex(
            State(free: count, freeForFurther: max(count / 2, 1), freeForWaiting: count * Self.mostWaiting)
        )
        self.wakeUps = wakeUps
        wakeUps.open(room: count * GroupSize.most)
    }

    /// Less than 0 when a further ring was taken with the last.
    var free: Int { state.withLock { $0.free } }

    var mayTakeFurtherRing: Bool { state.withLock { $0.freeForFurther > 0 } }

    func take(isFurther: Bool) -> WorkerSlot {
        let slot = WorkerSlot(isFurther: isFurther)
        state.withLock { state in
            state.change(by: -1, isFurther: isFurther)
            state.held[ObjectIdentifier(slot)] = slot
        }
        wakeUps.take(GroupSize.most)
        return slot
    }

    /// The worker has ended.
    func giveBack(_ slot: WorkerSlot) {
        let isHeld = state.withLock { state in
            let isHeld = state.held.removeValue(forKey: ObjectIdentifier(slot)) != nil
            if isHeld { state.change(by: 1, isFurther: slot.isFurther) } else { state.freeForWaiting += 1 }
            return isHeld
        }
        if isHeld { wakeUps.giveBack(GroupSize.most) }
    }

    /// Takes the slots of those who have done nothing but wait since the last calls; to be called now and then.
    func takeBackSilent() {
        let count = state.withLock { state in
            var count = 0
            for (id, slot) in state.held where slot.isSilent() && state.freeForWaiting > 0 {
                state.held[id] = nil
                state.change(by: 1, isFurther: slot.isFurther)
                state.freeForWaiting -= 1
                slot.isLost.store(true, ordering: .relaxed)
                count += 1
            }
            return count
        }
        wakeUps.giveBack(count * GroupSize.most)
    }
}

/// A worker's place among those that may work at the same time.
final class WorkerSlot: Sendable {
    /// That of the worker that this task belongs to; nil outside of the dispatcher.
    @TaskLocal static var current: WorkerSlot?

    /// After so many intervals without a sign of life from APNs, nor from the worker, it counts as one that only waits.
    private static let patience = 2

    private struct State {
        /// Calls without an answer.
        var open = 0
        var hasMoved = false
        var silence = 0
    }

    let isFurther: Bool
    private let state = Mutex(State())
    /// Whether it was taken from the worker, which is to end when it is answered.
    fileprivate let isLost = Atomic(false)

    init(isFurther: Bool) {
        self.isFurther = isFurther
    }

    /// Whether the worker of this task is to end with the turn that it is at, for others to begin.
    static var mustYield: Bool { current?.isLost.load(ordering: .relaxed) ?? false }

    /// Waits for an answer of APNs.
    static func awaiting<Answer: Sendable>(_ answer: () async -> Answer) async -> Answer {
        guard let current else { return await answer() }
        current.move(1)
        defer { current.move(-1) }
        return await answer()
    }

    /// A call has left (1) or was answered (-1).
    func move(_ difference: Int) {
        state.withLock { state in
            state.open += difference
            state.hasMoved = true
        }
    }

    /// Whether the worker has done nothing but wait for some intervals; each call ends one.
    func isSilent() -> Bool {
        state.withLock { state in
            state.silence = state.open > 0 && !state.hasMoved ? state.silence + 1 : 0
            state.hasMoved = false
            return state.silence >= Self.patience
        }
    }
}
