internal import Synchronization

/// Says until when pushes may leave, beside the time limit for their answers.
///
/// The owner of the work extends it with each renewal of its lease, and closes it when it gives the work up. A push that
/// meets a closed fence never leaves. A push that has left waits for its answer as usual.
package final class DepartureFence: Sendable {
    private let end: Mutex<ContinuousClock.Instant?>

    /// Creates a fence that is open until a moment.
    package init(until end: ContinuousClock.Instant) {
        self.end = Mutex(end)
    }

    /// Keeps the fence open until a later moment. A closed fence stays closed.
    package func extend(until moment: ContinuousClock.Instant) {
        end.withLock { end in
            if let current = end { end = max(current, moment) }
        }
    }

    /// Closes the fence for good. After this call no push leaves, except one that is leaving at this moment.
    package func close() {
        end.withLock { $0 = nil }
    }

    /// Whether a push may leave at a moment.
    package func isOpen(at now: ContinuousClock.Instant) -> Bool {
        end.withLock { end in end.map { now < $0 } ?? false }
    }
}
