import ActivityModel
import Cards
import DeliveryStore
import Postgres
import Store
import Synchronization

/// The progress of a walk, which is stored while the walk runs.
final class RingProgress: Sendable {
    private struct State {
        var carousel: Carousel
        /// To be stored when somebody was reached: the revisions that the walk has jumped over.
        var merges: [Query]
        /// The records of priorities that were decided on the way, to be stored with the next part.
        var priorities: [BudgetClass: Query] = [:]
        var window: RingWindow
        /// Whether it is stored that some of the change was sent.
        var isMarked = false

        /// To be stored with the next part. Rings of one activity store them in one order, so that two never wait for each
        /// other.
        mutating func takePriorities() -> [Query] {
            defer { priorities = [:] }
            return priorities.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value)
        }
    }

    private let segments: SegmentStore
    private let lease: SegmentLease
    private let change: Revision
    /// Under which timestamp the walk tells an alert, if it does.
    private let alertStamp: Timestamp?
    private let state: Mutex<State>

    /// `merges` are stored with the first part that reached somebody.
    init(
        segments: SegmentStore,
        lease: SegmentLease,
        change: Revision,
        alertStamp: Timestamp?,
        carousel: Carousel,
        merges: [Query],
        nothing: PushExceptions
    ) {
        self.segments = segments
        self.lease = lease
        self.change = change
        self.alertStamp = alertStamp
        state = Mutex(
            State(carousel: carousel, merges: merges, window: RingWindow(nothing: nothing))
        )
    }

    /// Adds the record of a decision for pushes of a class. It is stored with the part that they belong to, or an
    /// earlier one.
    func add(_ record: Query, of budgetClass: BudgetClass) {
        state.withLock { $0.priorities[budgetClass] = record }
    }

    func withWindow<R>(_ body: (inout RingWindow) -> sending R) -> sending R {
        state.withLock { body(&$0.window) }
    }

    /// Stores a part that was taken from the window, while the walk continues.
    ///
    /// - Throws: ``LeaseLost``.
    func store(_ part: RingWindow.Part) async throws {
        try await acknowledge(part, reachedBound: false)
        withWindow { $0.partStored() }
    }

    /// Stores the rest when the walk is over and everything is answered. `reachedBound`: there is nobody left to send
    /// to in the pass.
    ///
    /// - Returns: Why nobody was reached, if that is so for a reason that concerns all; then the walk begins again
    ///   where this part began.
    /// - Throws: ``LeaseLost``.
    func finish(reachedBound: Bool) async throws -> String? {
        let rest = withWindow { $0.rest }
        guard let failure = rest.exceptions.commonFailure else {
            try await acknowledge(rest, reachedBound: reachedBound)
            return nil
        }
        // Keeps the revision that the walk has turned to, so that its alert is still owed after the failure.
        try await acknowledge(rest, hasFailed: true)
        return failure
    }

    /// If it `hasFailed`, the walk stays in its place, and the destinations stay unchanged.
    private func acknowledge(
        _ part: RingWindow.Part,
        reachedBound: Bool = false,
        hasFailed: Bool = false
    ) async throws {
        let hasArrived = part.exceptions.mayHaveArrived
        let mark = ChangeStore.markSent(change, of: lease.activityKey)
        let (carousel, changes) = state.withLock { state in
            if !hasFailed { state.carousel.acknowledge(through: part.lastKey, reachedBound: reachedBound) }
            if hasArrived { state.carousel.reached() }
            defer { if hasArrived { (state.merges, state.isMarked) = ([], true) } }
            let news = state.merges + (state.isMarked ? [] : [mark])
            let passed = ChangeStore.passed(state.carousel, under: lease)
            return (state.carousel, (hasArrived ? news : passed) + state.takePriorities())
        }
        try await segments.acknowledge(
            lease,
            carousel,
            hasFailed: hasFailed,
            hasSent: part.count > 0,
            alertStamp: part.count > 0 && !hasFailed ? alertStamp : nil,
            with: changes + (hasFailed ? [] : part.exceptions.statements)
        )
    }
}
