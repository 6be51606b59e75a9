package import ActivityModel
import JSON
import Synchronization

/// Reports that the database's clock stepped back, once a minute at most: every change tells of it while it lasts.
package final class ClockSkewWatch: Sendable {
    private struct Sighting {
        let seconds: Int64
        let at: ContinuousClock.Instant
    }

    /// How long a step is news no more after it was reported.
    private static let pause = Duration.seconds(60)

    private let last = Mutex<Sighting?>(nil)

    package init() {}

    /// The event to write if the highest stamp of an activity is so far ahead of the clock that the clock must have
    /// been set back; nil if it is not, or if that was reported a moment ago.
    package func event(activityKey: Int64, now: Timestamp, lastStamp: Timestamp?) -> Event? {
        guard let seconds = Stamping.clockSkew(now: now, last: lastStamp) else { return nil }
        let isNews = last.withLock { last in
            let moment = ContinuousClock.now
            if let last, last.at.duration(to: moment) < Self.pause { return false }
            last = Sighting(seconds: seconds, at: moment)
            return true
        }
        guard isNews else { return nil }
        return Event(.clockSkew, of: .activity(key: activityKey), ["seconds": .number(JSONNumber(seconds))])
    }

    /// What operators are told while stamps run ahead of the clock.
    package var warning: String? {
        last.withLock { last in
            guard let last, last.at.duration(to: .now) < Self.pause * 2 else { return nil }
            return
                "The database's clock was set back by about \(last.seconds) s; timestamps run ahead of it until it has caught up."
        }
    }
}
