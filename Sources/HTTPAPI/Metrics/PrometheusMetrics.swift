package import ActivityModel
package import CoreMetrics
import Synchronization

/// Collects the process's metrics and renders them in Prometheus' text format, version 0.0.4.
///
/// Labels of swift-metrics become Prometheus names: every character outside `[A-Za-z0-9_:]` turns into `_`, counters
/// end in `_total` and timers in `_seconds`. Timers and aggregating recorders are histograms with fixed buckets,
/// everything else a gauge. Series live until they are destroyed; callers keep their number of label values small.
package final class PrometheusMetrics: MetricsFactory, Sendable {
    /// The content type of ``render()``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let families = Mutex<[String: MetricFamily]>([:])

    /// Creates a factory that knows no metric yet.
    package init() {}

    /// Every series in name order, then in label order; with `app`, those that name this app.
    package func render(only app: BundleID? = nil) -> String {
        // Only references are copied under the lock; the text is built outside it.
        let snapshot = families.withLock { $0 }
        var text = ""
        for (_, family) in snapshot.sorted(by: { $0.key < $1.key }) {
            family.render(only: app.map { MetricName.labels([("app", $0.rawValue)]) }, into: &text)
        }
        return text
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(MetricName.counter(label), .counter, dimensions) { CounterSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(MetricName.plain(label), .gauge, dimensions) { GaugeSeries() }
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate {
            return series(MetricName.plain(label), .histogram, dimensions) {
                HistogramSeries(bounds: HistogramSeries.countBounds)
            }
        }
        return series(MetricName.plain(label), .gauge, dimensions) { GaugeSeries() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(MetricName.timer(label), .histogram, dimensions) {
            HistogramSeries(bounds: HistogramSeries.secondBounds)
        }
    }

    package func destroyCounter(_ handler: any CounterHandler) {
        forget(handler)
    }

    package func destroyMeter(_ handler: any MeterHandler) {
        forget(handler)
    }

    package func destroyRecorder(_ handler: any RecorderHandler) {
        forget(handler)
    }

    package func destroyTimer(_ handler: any TimerHandler) {
        forget(handler)
    }

    /// The series of that name and label values, made at first use.
    ///
    /// A name that is already taken by another kind of metric is a mistake in this program; its values are then kept
    /// out of the text, because one name with two types makes scrapers refuse the whole page.
    private func series<S: MetricSeries>(
        _ name: String,
        _ kind: MetricFamily.Kind,
        _ dimensions: [(String, String)],
        _ make: () -> S
    ) -> S {
        let labels = MetricName.labels(dimensions)
        return families.withLock { families in
            let family = families[name] ?? MetricFamily(name: name, kind: kind)
            if let existing = family.series[labels] {
                guard let same = existing as? S, family.kind == kind else {
                    assertionFailure("metric \(name) is used with two kinds")
                    return make()
                }
                return same
            }
            guard family.kind == kind else {
                assertionFailure("metric \(name) is used with two kinds")
                return make()
            }
            let made = make()
            var grown = family
            grown.series[labels] = made
            families[name] = grown
            return made
        }
    }

    private func forget(_ handler: any AnyObject) {
        families.withLock { families in
            for (name, family) in families {
                guard let entry = family.series.first(where: { $0.value === handler }) else { continue }
                var shrunk = family
                shrunk.series[entry.key] = nil
                families[name] = shrunk.series.isEmpty ? nil : shrunk
                return
            }
        }
    }
}
