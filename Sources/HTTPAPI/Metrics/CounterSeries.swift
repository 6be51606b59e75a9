import CoreMetrics
import Synchronization

/// A count that only grows while the process runs.
final class CounterSeries: CounterHandler, MetricSeries {
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) {
        // Stays at the maximum, because a counter that becomes negative would look like a restart.
        var current = value.load(ordering: .relaxed)
        while true {
            let (sum, overflow) = current.addingReportingOverflow(amount)
            let outcome = value.weakCompareExchange(
                expected: current,
                desired: overflow ? .max : sum,
                ordering: .relaxed
            )
            if outcome.exchanged { return }
            current = outcome.original
        }
    }

    func reset() {
        value.store(0, ordering: .relaxed)
    }

    func render(name: String, labels: String, into text: inout String) {
        text += labels.isEmpty ? name : "\(name){\(labels)}"
        text += " \(value.load(ordering: .relaxed))\n"
    }
}
