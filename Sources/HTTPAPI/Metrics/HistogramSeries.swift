import CoreMetrics
import Synchronization

/// Observations counted in fixed buckets, with their sum.
final class HistogramSeries: TimerHandler, RecorderHandler, MetricSeries {
    /// Upper bounds in seconds for timers: half a millisecond to a minute.
    static let secondBounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]
    /// Upper bounds for sizes and counts: 1, 2, 5 per decade up to a million.
    static let countBounds: [Double] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
        1_000_000,
    ]

    private struct State {
        /// One count per bound, then one for the values above all bounds. The counts are not cumulative.
        var counts: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    /// - Parameter bounds: ascending upper bounds, inclusive.
    init(bounds: [Double]) {
        self.bounds = bounds
        self.state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1_000_000_000)
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func render(name: String, labels: String, into text: inout String) {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        let prefix = labels.isEmpty ? "" : labels + ","
        var total: UInt64 = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < bounds.count ? MetricNumber.text(bounds[index]) : "+Inf"
            text += "\(name)_bucket{\(prefix)le=\"\(bound)\"} \(total)\n"
        }
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        text += "\(name)_sum\(braces) \(MetricNumber.text(sum))\n"
        text += "\(name)_count\(braces) \(total)\n"
    }
}
