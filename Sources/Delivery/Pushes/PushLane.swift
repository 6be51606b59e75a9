import ActivityModel
import Synchronization

/// The lane of one environment in the push queue: its batches that are on their way, and what has the queue look for
/// more.
///
/// The batches report themselves, so the lane is right at any moment, whether the queue looks or waits.
final class PushLane: Sendable {
    /// One element when it is time to look. For one consumer.
    let looks: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let batches = Mutex(PushBatches())

    init() {
        (looks, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Has the queue look.
    func look() { continuation.yield() }

    /// Whether no other batch may begin.
    var isFull: Bool { batches.withLock { $0.areFull } }

    /// The apps that are to send nothing more for now.
    var silentApps: [BundleID] { batches.withLock { $0.silentApps } }

    /// A batch begins, with the app of each of its pushes. Returns its number.
    func begin(_ apps: [BundleID]) -> Int { batches.withLock { $0.begin(apps) } }

    /// A batch has only waited for a while.
    func isLate(_ number: Int) { comeOn { $0.isLate(number) } }

    func end(_ number: Int) { comeOn { $0.end(number) } }

    /// A batch comes on. What was held up may leave now.
    private func comeOn(_ change: (inout PushBatches) -> Void) {
        let wereHoldingUp = batches.withLock { batches in
            let wereHoldingUp = batches.areHoldingUp
            change(&batches)
            return wereHoldingUp
        }
        if wereHoldingUp { look() }
    }
}
