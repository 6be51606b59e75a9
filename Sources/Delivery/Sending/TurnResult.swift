/// The result of one look for work.
enum TurnResult: Sendable {
    /// Something was sent or settled; there may be more.
    case worked
    /// The turn has ended the lease: something was sent and nothing else was to be done, or a group continues.
    case rested
    /// Nothing is due.
    case idle
    /// The push would run ahead of the clock, or sending is halted. It is due after this time.
    case early(Duration)
    /// The segment as a whole cannot be served now; `reason` is APNs' word or ours, safe for logs.
    case failed(reason: String)
}

extension TurnResult {
    var isIdle: Bool {
        if case .idle = self { return true }
        return false
    }

    /// The result of two kinds of work on one segment. A failure counts first, then work, then a wait.
    func joined(with other: Self) -> Self {
        switch (self, other) {
        case (.failed, _): self
        case (_, .failed): other
        case (.worked, _), (_, .worked): .worked
        // Only a broadcast returns this, and it is all of its segment's work.
        case (.rested, _), (_, .rested): .rested
        case (.early(let first), .early(let second)): .early(min(first, second))
        case (.early, .idle): self
        case (.idle, _): other
        }
    }
}
