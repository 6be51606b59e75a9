/// When errors cost a connection something.
///
/// Apple, Establishing a connection to APNs: errors lower the throughput by way of SETTINGS, too many of them end the
/// connection, and bad device tokens end it sooner; a 410 is none. No number is published, so these are assumptions.
package struct PenaltyLimits: Sendable, Hashable {
    /// Points within the window that halve the concurrent streams, and halve them again each time; 0: nothing is ever
    /// done.
    package var slowDown = 100
    /// Points within the window that end the connection.
    package var close = 1000
    /// The points of a bad device token. Any other error is one point.
    package var badDeviceToken = 5
    /// Seconds after which a new count begins.
    package var window: Int64 = 60

    package init() {}
}

/// The errors of one connection.
package struct ErrorScore: Sendable, Hashable {
    /// What an answer brings upon the connection.
    package enum Consequence: Sendable, Hashable {
        case none
        /// Only so many streams from now on.
        case limit(Int)
        case close
    }

    private var points = 0
    private var windowStart: Int64?
    private var halvings = 0

    /// Takes note of an answer. `seconds` is the time, `streams` what a connection may have that brings no errors.
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
            // A window without enough errors to slow down sets everything right again.
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
