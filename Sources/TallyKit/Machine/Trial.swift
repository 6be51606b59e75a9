/// A time to wait, by a clock that may be set.
package struct Pause: Codable, Hashable, Sendable {
    let since: Moment
    let until: Moment

    init(_ seconds: Double, from now: Moment) {
        since = now
        until = now + seconds
    }

    /// When it is over; nil if it is. A clock that was set back hides how much of it has passed: then it is over, too.
    func end(at now: Moment) -> Moment? { since <= now && now < until ? until : nil }

    /// The same pause, begun anew if the clock was set back.
    func restarted(at now: Moment) -> Pause { now < since ? Pause(until - since, from: now) : self }
}

/// How the tries to report one subject go.
struct Trial: Hashable, Sendable {
    /// The first pause, and the longest. Seconds.
    static let firstPause: Double = 1
    static let longestPause: Double = 300
    /// No pause is longer, whatever an answer asks for.
    static let longestWait: Double = 3600

    private(set) var failures = 0
    private(set) var pause: Pause?
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
        let longest = min(Self.firstPause * Double(1 << min(failures, 20)), Self.longestPause)
        failures += 1
        let seconds = max(longest * Double.random(in: 0.5...1, using: &random), min(least, Self.longestWait))
        pause = Pause(seconds, from: now)
    }

    /// When the next try is due; nil if now.
    func due(at now: Moment) -> Moment? { pause?.end(at: now) }
}
