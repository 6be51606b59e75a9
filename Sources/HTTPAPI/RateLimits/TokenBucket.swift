/// How much a caller may do now. Time fills it at a steady rate, and requests empty it. Pure.
///
/// A caller that finds at least one token may take more than there are, and then waits longer. So a batch larger than
/// the capacity is not refused forever, and still counts in full.
struct TokenBucket: Sendable {
    /// Tokens per second; more than 0.
    let rate: Double
    let capacity: Double
    private var tokens: Double
    private var filledAt: ContinuousClock.Instant

    /// A full bucket.
    init(rate: Double, capacity: Double, now: ContinuousClock.Instant) {
        self.rate = rate
        self.capacity = capacity
        tokens = capacity
        filledAt = now
    }

    /// Takes `count` tokens if there is at least one.
    ///
    /// - Returns: Nil, or the time until there is one.
    mutating func take(_ count: Double, now: ContinuousClock.Instant) -> Duration? {
        fill(now: now)
        guard tokens >= 1 else { return .seconds((1 - tokens) / rate) }
        tokens -= count
        return nil
    }

    /// Takes `count` tokens, however many there are.
    mutating func charge(_ count: Double, now: ContinuousClock.Instant) {
        fill(now: now)
        tokens -= count
    }

    /// Whether it equals a new bucket.
    func isFull(now: ContinuousClock.Instant) -> Bool { level(at: now) >= capacity }

    private mutating func fill(now: ContinuousClock.Instant) {
        tokens = level(at: now)
        filledAt = max(filledAt, now)
    }

    private func level(at now: ContinuousClock.Instant) -> Double {
        guard now > filledAt else { return tokens }
        return min(capacity, tokens + filledAt.duration(to: now) / .seconds(1) * rate)
    }
}
