/// How fast groups are carried out while more waits than they hold, and so how long a new element would wait. Pure:
/// time is an argument.
///
/// While the groups leave nothing behind, the pace shows the demand and not the capacity. So it is forgotten.
struct GroupPace: Sendable {
    /// The rate of one stretch of time serves for the next. Long enough for several groups, short enough to follow a
    /// database that becomes slow.
    static let stretch = Duration.milliseconds(500)

    /// The start of the current stretch; nil while the groups leave nothing behind.
    private var since: ContinuousClock.Instant?
    private var done = 0
    /// Elements a second in the stretch before; nil before the first is over.
    private var rate: Double?

    /// A group of `count` elements has been carried out, and as many others have begun as may.
    ///
    /// - `leavesMore`: whether there is enough left for another group, which may not begin yet.
    mutating func finished(_ count: Int, leavesMore: Bool, now: ContinuousClock.Instant) {
        guard leavesMore else {
            self = GroupPace()
            return
        }
        guard let since else {
            self.since = now
            return
        }
        done += count
        let elapsed = since.duration(to: now)
        guard elapsed >= Self.stretch else { return }
        rate = Double(done) / (elapsed / .seconds(1))
        self.since = now
        done = 0
    }

    /// How long an element behind `count` others waits until its group begins; nil if unknown.
    ///
    /// A stretch that does not end counts, too, with its pace so far.
    func wait(behind count: Int, now: ContinuousClock.Instant) -> Duration? {
        guard let since else { return nil }
        let elapsed = since.duration(to: now)
        let rate = elapsed > Self.stretch * 2 ? Double(done) / (elapsed / .seconds(1)) : rate
        guard let rate else { return nil }
        return rate > 0 ? .seconds(Double(count) / rate) : elapsed
    }
}

/// The queue in front of an element that comes now.
struct Backlog: Sendable, Equatable {
    /// How many wait to be carried out.
    let count: Int
    /// How long it would wait; nil as long as nobody has to wait for more than a group.
    let wait: Duration?
}
