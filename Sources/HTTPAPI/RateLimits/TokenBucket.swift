/// How much a caller may do: it fills at a steady rate and is emptied by requests. Pure.
///
/// Whoever finds something in it may take more than there is, and waits for it afterwards; so a large batch is never
/// refused for ever, and costs what it holds all the same.
struct TokenBucket: Sendable {
    /// What comes in a second; more than 0.
    let rate: Double
    /// The most that it holds.
    let capacity: Double
    private var tokens: Double
    private var filledAt: ContinuousClock.Instant

    /// A full one.
    init(rate: Double, capacity: Double, now: ContinuousClock.Instant) {
        self.rate = rate
        self.capacity = capacity
        tokens = capacity
        filledAt = now
    }

    /// Takes so much, if there is one at least.
    ///
    /// - Returns: nil; or how long it takes until there is.
    mutating func take(_ count: Double, now: ContinuousClock.Instant) -> Duration? {
        fill(now: now)
        guard tokens >= 1 else { return .seconds((1 - tokens) / rate) }
        tokens -= count
        return nil
    }

    /// Takes so much, whatever there is.
    mutating func charge(_ count: Double, now: ContinuousClock.Instant) {
        fill(now: now)
        tokens -= count
    }

    /// Whether it is as a new one would be.
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
