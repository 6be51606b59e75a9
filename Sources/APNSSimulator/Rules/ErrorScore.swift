/// How errors affect a connection.
///
/// Apple, Establishing a connection to APNs: errors lower the throughput through SETTINGS, and too many end the
/// connection. Bad device tokens end it sooner; a 410 does not count as an error. Apple publishes no numbers, so these
/// are assumptions.
package struct PenaltyLimits: Sendable, Hashable {
    /// The points within the window that halve the number of concurrent streams. Each further multiple halves it again.
    /// 0: errors have no effect.
    package var slowDown = 100
    /// The points within the window that end the connection.
    package var close = 1000
    /// The points of a bad device token. Every other error is one point.
    package var badDeviceToken = 5
    /// The length of the window in seconds. A new window starts at 0 points.
    package var window: Int64 = 60

    package init() {}
}

/// Counts the errors of one connection.
package struct ErrorScore: Sendable, Hashable {
    /// The effect of an answer on the connection.
    package enum Consequence: Sendable, Hashable {
        case none
        /// The new limit of concurrent streams.
        case limit(Int)
        case close
    }

    private var points = 0
    private var windowStart: Int64?
    private var halvings = 0

    /// Counts an answer. `seconds` is the time, and `streams` the stream limit of a connection without errors.
    mutating func note(
        _ status: Int,
        reason: String?,
        at seconds: Int64,
        streams: Int,
        limits: PenaltyLimits
    ) -> Consequence {
        guard limits.slowDown > 0 else { return .none }
        var consequence = Consequence.none
        if seconds - (windowStart ?? Int64.min / 2) >= limits.window {
            // After a window with few errors, the original limit returns.
            if halvings > 0, points < limits.slowDown { consequence = lift(streams) }
            windowStart = seconds
            points = 0
        }
        guard (400...499).contains(status), status != 410 else { return consequence }
        let before = points / limits.slowDown
        points += reason == "BadDeviceToken" ? limits.badDeviceToken : 1
        if points >= limits.close { return .close }
        guard points / limits.slowDown > before else { return consequence }
        halvings += 1
        return .limit(max(1, streams >> min(halvings, 62)))
    }

    private mutating func lift(_ streams: Int) -> Consequence {
        halvings = 0
        return .limit(streams)
    }
}
