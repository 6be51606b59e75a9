import CoreMetrics
import Synchronization

/// The last recorded value.
final class GaugeSeries: RecorderHandler, MeterHandler, MetricSeries {
    private let bits = Atomic<UInt64>(Double(0).bitPattern)

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    func set(_ value: Int64) {
        record(Double(value))
    }

    func set(_ value: Double) {
        record(value)
    }

    func increment(by amount: Double) {
        var current = bits.load(ordering: .relaxed)
        while true {
            let outcome = bits.weakCompareExchange(
                expected: current,
                desired: (Double(bitPattern: current) + amount).bitPattern,
                ordering: .relaxed
            )
            if outcome.exchanged { return }
            current = outcome.original
        }
    }

    func decrement(by amount: Double) {
        increment(by: -amount)
    }

    func render(name: String, labels: String, into text: inout String) {
        text += labels.isEmpty ? name : "\(name){\(labels)}"
        text += " \(MetricNumber.text(Double(bitPattern: bits.load(ordering: .relaxed))))\n"
    }
}

/// Numbers in the text format of Prometheus.
enum MetricNumber {
    /// Whole numbers have no fraction. Infinities are `+Inf` and `-Inf`.
    static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return String(whole) }
        return "\(value)"
    }
}
