/// How long to leave a server alone that did not take a connection: doubled each time, with jitter, up to a limit.
struct BackOff: Sendable {
    static let first = Duration.milliseconds(50)

    let maximum: Duration
    private(set) var failures = 0

    /// How long to wait before the next attempt; `random`, from 0 up to 1, spreads those who wait over the second half
    /// of that time.
    func delay(random: Double) -> Duration {
        guard failures > 0 else { return .zero }
        let doubled = Self.first * (1 << min(failures - 1, 20))
        return min(doubled, maximum) * (0.5 + random / 2)
    }

    mutating func failed() { failures += 1 }

    mutating func succeeded() { failures = 0 }
}
