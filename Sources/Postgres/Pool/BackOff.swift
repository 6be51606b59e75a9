/// The pause before the next attempt to connect to a server: doubled after each failure, with jitter, up to a limit.
struct BackOff: Sendable {
    static let first = Duration.milliseconds(50)

    let maximum: Duration
    private(set) var failures = 0

    /// The time to wait before the next attempt. `random`, from 0 up to 1, spreads the callers over the second half of
    /// it.
    func delay(random: Double) -> Duration {
        guard failures > 0 else { return .zero }
        let doubled = Self.first * (1 << min(failures - 1, 20))
        return min(doubled, maximum) * (0.5 + random / 2)
    }

    mutating func failed() { failures += 1 }

    mutating func succeeded() { failures = 0 }
}
