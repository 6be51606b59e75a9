package import ActivityModel
package import CoreMetrics
import Synchronization

/// Collects the process's metrics and renders them in Prometheus' text format, version 0.0.4.
///
/// Labels of swift-metrics become Prometheus names: characters outside `[A-Za-z0-9_:]` turn into `_`, counters end in
/// `_total`, and timers in `_seconds`. Timers and aggregating recorders are histograms with fixed buckets; all others
/// are gauges. A series lives until it is destroyed, so callers must use few label values.
package final class PrometheusMetrics: MetricsFactory, Sendable {
    /// The content type of ``render()``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let families = Mutex<[String: MetricFamily]>([:])
    private let readings = Mutex<[Reading]>([])

    /// A series whose value is read for each page.
    private struct Reading: Sendable {
        let series: GaugeSeries
        let value: @Sendable () -> Double
    }

    /// Creates a factory without metrics.
    package init() {}

    /// All series, sorted by name and then by labels. With `app`, only those labelled with this app.
    package func render(only app: BundleID? = nil) -> String {
        for reading in readings.withLock({ $0 }) { reading.series.record(reading.value()) }
        // Copies only references under the lock and builds the text outside it.
        let snapshot = families.withLock { $0 }
        var text = ""
        for (_, family) in snapshot.sorted(by: { $0.key < $1.key }) {
            family.render(only: app.map { MetricName.labels([("app", $0.rawValue)]) }, into: &text)
        }
        return text
    }

    /// Adds a gauge without labels. Each page shows what `value` returns then.
    package func gauge(_ name: String, reading value: @escaping @Sendable () -> Double) {
        let series = series(name, .gauge, []) { GaugeSeries() }
        readings.withLock { $0.append(Reading(series: series, value: value)) }
    }

    /// The same for a number that only grows. The name ends in `_total`.
    package func counter(_ name: String, reading value: @escaping @Sendable () -> Double) {
        let series = series(name, .counter, []) { GaugeSeries() }
        readings.withLock { $0.append(Reading(series: series, value: value)) }
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

    /// The series with this name and these label values. The first use creates it.
    ///
    /// A name that already belongs to another kind of metric is a bug in this program. Its values are then left out,
    /// because scrapers refuse a page where one name has two types.
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
