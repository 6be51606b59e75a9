/// How the tries to report one subject go.
struct Trial: Hashable, Sendable {
    /// The first pause, and the longest. Seconds.
    static let firstPause: Double = 1
    static let longestPause: Double = 300
    /// No pause is longer, whatever an answer asks for. A time beyond it shows that the clock was set back.
    static let longestWait: Double = 3600

    private(set) var failures = 0
    private(set) var notBefore: Moment?
    /// Tickets in a row that Tally refused.
    var refusedTickets = 0
    /// What Tally refused for good. It waits until there is something else to say.
    var parkedNews: News?

    /// Takes a failure: the pause doubles, and half of it is chance.
    mutating func fail(
        at now: Moment,
        least: Double = 0,
        using random: inout any RandomNumberGenerator & Sendable
    ) {
        let pause = min(Self.firstPause * Double(1 << min(failures, 20)), Self.longestPause)
        failures += 1
        notBefore = now + max(pause * Double.random(in: 0.5...1, using: &random), min(least, Self.longestWait))
    }

    /// When the next try is due; nil if now.
    func due(at now: Moment) -> Moment? { Self.pending(notBefore, at: now) }

    /// A moment that is still to come; nil if it has come, or if the clock was set back.
    static func pending(_ moment: Moment?, at now: Moment) -> Moment? {
        guard let moment, moment > now, moment - now <= longestWait + 1 else { return nil }
        return moment
    }
}
