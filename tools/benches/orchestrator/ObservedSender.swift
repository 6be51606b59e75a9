import APNSTransport
import ActivityModel
import Delivery
import Synchronization

/// The transport, with a note of when its answers came.
final class ObservedSender: PushSender {
    private struct State {
        var answered = 0
        var refused = 0
        /// When the first batch was given to the transport, and when the last answer came.
        var firstSent: ContinuousClock.Instant?
        var lastAnswer = ContinuousClock.now
        var awaited: (count: Int, continuation: CheckedContinuation<Void, Never>)?
        /// When a batch was answered, by the number in its body.
        var answers: [Int: ContinuousClock.Instant]?
    }

    let base: any PushSender
    private let state = Mutex(State())

    init(base: any PushSender) {
        self.base = base
    }

    /// How many pushes APNs did not accept.
    var refused: Int { state.withLock(\.refused) }

    /// Forgets what was answered so far.
    func reset() {
        state.withLock { $0 = State() }
    }

    /// Keeps the time of each answer from now on, by the number that ``Scene/state(_:)`` has put into the body.
    func noteAnswers() {
        state.withLock { $0.answers = [:] }
    }

    var notedAnswers: [Int: ContinuousClock.Instant] { state.withLock { $0.answers ?? [:] } }

    /// Waits until so many pushes were answered since the last reset.
    ///
    /// - Returns: when the first batch was given to the transport, and when the last answer came.
    func waitForAnswers(_ count: Int) async -> (first: ContinuousClock.Instant, last: ContinuousClock.Instant) {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.answered >= count { return true }
                state.awaited = (count, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
        return state.withLock { ($0.firstSent ?? $0.lastAnswer, $0.lastAnswer) }
    }

    func send(_ batch: PushBatch) async -> BatchOutcome {
        let began = ContinuousClock.now
        let outcome = await base.send(batch)
        let ended = ContinuousClock.now
        let awaited = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.answered += outcome.count
            state.refused += outcome.exceptions.count
            state.firstSent = state.firstSent ?? began
            state.lastAnswer = ended
            if state.answers != nil, let number = Scene.number(in: batch.body) { state.answers?[number] = ended }
            guard let awaited = state.awaited, state.answered >= awaited.count else { return nil }
            state.awaited = nil
            return awaited.continuation
        }
        awaited?.resume()
        return outcome
    }
}
