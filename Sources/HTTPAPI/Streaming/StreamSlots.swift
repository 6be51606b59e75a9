import APITypes
import CoreMetrics
import Metrics
import Synchronization

/// Counts the readers that follow events, in total and for each key.
final class StreamSlots: Sendable {
    private let limit: Int
    private let limitPerKey: Int
    private let readers: Gauge
    private let taken = Mutex<[String: Int]>([:])

    init(limit: Int, limitPerKey: Int, metrics: any MetricsFactory) {
        self.limit = limit
        self.limitPerKey = limitPerKey
        readers = Gauge(label: MetricLabel.eventReaders, factory: metrics)
    }

    /// Counts a reader for as long as the returned object exists.
    ///
    /// - Throws: 429 if a limit is reached.
    func take(for keyID: String) throws(Problem) -> StreamSlot {
        let exceeded: Int? = taken.withLock { taken in
            if taken[keyID, default: 0] >= limitPerKey { return limitPerKey }
            let sum = taken.values.reduce(0, +)
            if sum >= limit { return limit }
            taken[keyID, default: 0] += 1
            readers.record(sum + 1)
            return nil
        }
        if let exceeded { throw .tooManyReaders(limit: exceeded, retryAfter: 5) }
        return StreamSlot(slots: self, keyID: keyID)
    }

    fileprivate func giveBack(_ keyID: String) {
        taken.withLock { taken in
            taken[keyID, default: 1] -= 1
            if taken[keyID] == 0 { taken[keyID] = nil }
            readers.record(taken.values.reduce(0, +))
        }
    }
}

/// One counted reader, for as long as this object exists. It is released even if the answer is never written.
final class StreamSlot: Sendable {
    private let slots: StreamSlots
    private let keyID: String

    fileprivate init(slots: StreamSlots, keyID: String) {
        self.slots = slots
        self.keyID = keyID
    }

    deinit {
        slots.giveBack(keyID)
    }
}
