/// Quantiles of what was timed, in milliseconds.
struct Times: Sendable, Encodable {
    let count: Int
    let p50: Double
    let p90: Double
    let p99: Double
    let max: Double

    init(_ durations: [Duration]) {
        let sorted = durations.map { $0 / .milliseconds(1) }.sorted()
        func quantile(_ share: Double) -> Double {
            sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
        count = sorted.count
        p50 = quantile(0.5)
        p90 = quantile(0.9)
        p99 = quantile(0.99)
        max = sorted.last ?? 0
    }
}

extension ContinuousClock.Instant {
    /// How many seconds it lies after another.
    func seconds(since other: Self) -> Double { other.duration(to: self) / .seconds(1) }
}
