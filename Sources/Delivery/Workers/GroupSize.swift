import Synchronization

/// How many segments a worker is given at once: many while their work is small, else one.
final class GroupSize: Sendable {
    private let size = Atomic(1)

    var current: Int { size.load(ordering: .relaxed) }

    /// A segment that took a worker of its own says nothing about the segments that would have shared that worker.
    func learn(from outcome: SegmentGroup.Outcome) {
        guard outcome.hadTooMuch || !outcome.hadOther else { return }
        let next = outcome.hadTooMuch ? 1 : min(2 * current, WorkerSlots.mostHeld)
        // Two workers may learn at the same moment; either is right.
        size.store(next, ordering: .relaxed)
    }
}
