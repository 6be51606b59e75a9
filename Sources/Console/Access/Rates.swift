import APITypes
import Synchronization

/// What this daemon's counters stood at a moment ago, so that pages can show what happens a second.
final class Rates: Sendable {
    /// What a page shows of one counter.
    struct Rate: Sendable {
        let perSecond: Double
        /// The seconds that it is measured over.
        let seconds: Int64
    }

    private struct Sample {
        let at: Instant
        let counts: [String: Double]
    }

    /// The time that rates are measured over, if somebody has looked since.
    private static let windowSeconds: Int64 = 60

    /// By the app whose counters they are; the oldest first.
    private let samples = Mutex<[String: [Sample]]>([:])

    /// Notes counters, and returns their rates since the oldest note within a minute. Empty on the first look.
    func note(_ counts: [String: Double], of app: String?, at now: Instant) -> [String: Rate] {
        samples.withLock { all in
            var kept = all[app ?? "", default: []].filter { $0.at.unixSeconds > now.unixSeconds - Self.windowSeconds }
            let oldest = kept.first
            if kept.last.map({ $0.at.unixSeconds < now.unixSeconds }) ?? true {
                kept.append(Sample(at: now, counts: counts))
            }
            all[app ?? ""] = kept
            guard let oldest else { return [:] }
            let microseconds = now.microseconds - oldest.at.microseconds
            guard microseconds >= 1_000_000 else { return [:] }
            let seconds = Double(microseconds) / 1_000_000
            return counts.reduce(into: [:]) { rates, entry in
                let growth = max(0, entry.value - (oldest.counts[entry.key] ?? 0))
                rates[entry.key] = Rate(perSecond: growth / seconds, seconds: Int64(seconds))
            }
        }
    }
}
