import CoreMetrics
import Metrics
import Synchronization

/// Counts and times the requests of one route. A series appears with its first request.
final class RequestMeter: Sendable {
    private struct Series {
        var duration: Timer?
        /// By status.
        var counts: [Int: Counter] = [:]
    }

    private let dimensions: [(String, String)]
    private let metrics: any MetricsFactory
    private let series = Mutex(Series())

    init(method: String, route: String, _ metrics: any MetricsFactory) {
        dimensions = [("method", method), ("route", route)]
        self.metrics = metrics
    }

    /// Records one request. The duration is from its head to its answer.
    func record(status: Int, _ duration: Duration) {
        let (count, timer) = series.withLock { series in
            let timer = series.duration ?? makeTimer()
            let count = series.counts[status] ?? makeCounter(status)
            series.duration = timer
            series.counts[status] = count
            return (count, timer)
        }
        count.increment()
        let (seconds, attoseconds) = duration.components
        timer.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    private func makeTimer() -> Timer {
        Timer(label: MetricLabel.requestDuration, dimensions: dimensions, factory: metrics)
    }

    private func makeCounter(_ status: Int) -> Counter {
        Counter(label: MetricLabel.requests, dimensions: dimensions + [("status", String(status))], factory: metrics)
    }
}
