/// Tells the dispatcher of this daemon that there is work, so that it need not wait for its next look at the database.
///
/// Many signals before the dispatcher looks count as one. A lost signal costs one poll interval, never a change:
/// the `due_at` columns are the truth.
final class WakeUps: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// There is work that is due now. Call after the commit.
    func signal() {
        continuation.yield()
    }

    /// One element per burst of signals. For one consumer.
    var signals: AsyncStream<Void> { stream }
}
