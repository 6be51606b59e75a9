import ActivityModel
import Postgres
import Synchronization

/// How far a walk has come, and the storing of it while the walk goes on.
final class RingProgress: Sendable {
    private struct State {
        var carousel: Carousel
        /// To be stored when something has left: the revisions that the walk has jumped over.
        var merges: [Query]
        /// The records of priorities that were decided on the way, to be stored with the next part.
        var priorities: [BudgetClass: Query] = [:]
        var window: RingWindow
        /// Whether it is stored that some of the change was sent.
        var isMarked = false

        /// What is to be stored with the next part, of which something has left.
        mutating func takeStatements() -> [Query] {
            defer { merges = [] }
            return merges + takePriorities()
        }

        /// Rings of one activity store them in one order, so that two never wait for each other.
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

    /// `merges` are stored with the first part of which something has left.
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

    /// What was decided for pushes of a class is to be stored with the part that they belong to, or one before.
    func add(_ record: Query, of budgetClass: BudgetClass) {
        state.withLock { $0.priorities[budgetClass] = record }
    }

    func withWindow<R>(_ body: (inout RingWindow) -> sending R) -> sending R {
        state.withLock { body(&$0.window) }
    }

    /// Stores a part that was taken from the window, while the walk goes on.
    ///
    /// - Throws: ``LeaseLost``.
    func store(_ part: RingWindow.Part) async throws {
        try await acknowledge(part, reachedBound: false)
        withWindow { $0.partStored() }
    }

    /// Stores what is left when the walk is over and everything is answered. `reachedBound`: there is nobody left to
    /// send to in the pass.
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
        // What the walk has turned to is kept, so that an alert is still owed when the failure is over.
        let (carousel, priorities) = state.withLock { ($0.carousel, $0.takePriorities()) }
        let changes = ChangeStore.failed(change, carousel, isInDoubt: rest.exceptions.areInDoubt, under: lease)
        try await segments.acknowledge(lease, carousel, hasFailed: true, with: changes + priorities)
        return failure
    }

    private func acknowledge(_ part: RingWindow.Part, reachedBound: Bool) async throws {
        let mark = ChangeStore.markSent(change, of: lease.activityKey)
        let (carousel, news) = state.withLock { state in
            state.carousel.acknowledge(through: part.lastKey, reachedBound: reachedBound)
            guard part.count > 0 else { return (state.carousel, ChangeStore.passed(state.carousel, under: lease)) }
            defer { state.isMarked = true }
            return (state.carousel, state.takeStatements() + (state.isMarked ? [] : [mark]))
        }
        try await segments.acknowledge(
            lease,
            carousel,
            hasSent: part.count > 0,
            alertStamp: part.count > 0 ? alertStamp : nil,
            with: news + part.exceptions.statements
        )
    }
}
