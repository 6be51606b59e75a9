package import Metrics
package import Synchronization

/// Metrics that are really kept, at the price of the daemon's own, so that the client is not measured without them.
package final class CountingMetrics: MetricsFactory {
    /// The pushes that were counted, whatever became of them.
    package let counted = Atomic<Int64>(0)
    private let times = Times()

    package init() {}

    /// How many latencies were recorded.
    package var latencies: Int { times.count }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        Count(metrics: self, isOfPushes: label == "tally_apns_responses_total")
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Gauge()
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        times
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    private final class Count: CounterHandler {
        private let metrics: CountingMetrics
        private let isOfPushes: Bool
        private let value = Atomic<Int64>(0)

        init(metrics: CountingMetrics, isOfPushes: Bool) {
            self.metrics = metrics
            self.isOfPushes = isOfPushes
        }

        func increment(by amount: Int64) {
            value.add(amount, ordering: .relaxed)
            if isOfPushes { metrics.counted.add(amount, ordering: .relaxed) }
        }

        func reset() {}
    }

    private final class Gauge: RecorderHandler {
        private let value = Atomic<Int64>(0)

        func record(_ value: Int64) {
            self.value.store(value, ordering: .relaxed)
        }

        func record(_ value: Double) {
            record(Int64(value))
        }
    }

    private final class Times: TimerHandler {
        private static let bounds: [Int64] = [
            500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
            500_000_000, 1_000_000_000,
        ]
        private let buckets = Mutex([Int](repeating: 0, count: Times.bounds.count + 1))

        var count: Int { buckets.withLock { $0.reduce(0, +) } }

        func recordNanoseconds(_ duration: Int64) {
            let bucket = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
            buckets.withLock { $0[bucket] += 1 }
        }
    }
}
