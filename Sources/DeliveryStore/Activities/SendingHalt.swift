import Postgres

/// A halt as a worker sees it.
package struct SendingHalt: Sendable, Hashable {
    /// How many probes there were.
    let probes: Int
    /// How long until the next one is allowed; not positive: it is.
    let probeIn: Duration

    /// The longest time that work waits for the end of a halt, without the jitter. Then it looks itself, because the
    /// end may have overlooked it.
    static let longestWait = Duration.seconds(300)
    /// How many of a probe's pushes leave at most.
    package static let probeSize = 10

    /// How long a segment with due work waits: past the next probe, and up to as long again, so that not all segments
    /// look at once. Whoever lifts the halt wakes them. The jitter is a number in 0…1.
    package func wait(jitter: Double) -> Duration { min(max(probeIn, .seconds(1)), Self.longestWait) * (1 + jitter) }
}

extension SendingHalt {
    /// Reads the columns `probes` and `probe_in`; nil where sending is not halted.
    init?(_ row: Row) throws {
        guard let probes = try row["probes"] as Int? else { return nil }
        let probeIn: Duration? = try row["probe_in"]
        self.init(probes: probes, probeIn: probeIn ?? .zero)
    }
}
