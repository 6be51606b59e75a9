/// Gives the `aps.timestamp` of pushes (promise 3).
///
/// iOS drops a push whose timestamp is not newer than the card's, and APNs still answers 200. A timestamp far in the
/// future blocks all later pushes (Apple forum 776165). So the stamps of one activity only grow, differ between
/// revisions, and stay close to the clock. The clock is the database's.
package enum Stamping {
    /// How far a stamp may run ahead of the clock, in seconds.
    package static let maximumLead: Int64 = 2
    /// The maximum age of a stamp, in seconds. A later send takes a fresh stamp.
    package static let maximumAge: Int64 = 30
    /// The skew threshold, in seconds. Stamping never gets that far ahead, so a larger lead means that the clock
    /// stepped back.
    package static let skewThreshold: Int64 = 5

    /// The stamp of a change at accept. `nil` if it would be too far ahead of the clock; then the sender gives the
    /// stamp.
    ///
    /// Here and below, `last` is the highest stamp ever given to a push of this activity.
    package static func atAccept(now: Timestamp, last: Timestamp?) -> Timestamp? {
        let stamp = whenSent(now: now, last: last)
        return stamp <= now + maximumLead ? stamp : nil
    }

    /// The stamp of a revision that is about to be sent. Order is more important than closeness to the clock.
    package static func whenSent(now: Timestamp, last: Timestamp?) -> Timestamp {
        guard let last else { return now }
        return max(now, last + 1)
    }

    /// How many seconds a sender should wait before it stamps, so that many quick passes do not run ahead of the clock.
    ///
    /// 0 if the clock stepped back: otherwise the wait would be as long as the step.
    package static func delayBeforeStamping(now: Timestamp, last: Timestamp?) -> Int64 {
        guard clockSkew(now: now, last: last) == nil else { return 0 }
        return max(0, whenSent(now: now, last: last) - now - maximumLead)
    }

    /// By how many seconds the clock seems to have stepped back; `nil` if it has not. The caller reports it as
    /// `clock_skew`.
    package static func clockSkew(now: Timestamp, last: Timestamp?) -> Int64? {
        guard let last, last > now + skewThreshold else { return nil }
        return last - now
    }

    /// Whether a send must take a fresh stamp of its revision, because the current one is older than ``maximumAge``.
    /// `age` is in seconds.
    package static func needsFreshStamp(age: Double) -> Bool { age > Double(maximumAge) }
}
