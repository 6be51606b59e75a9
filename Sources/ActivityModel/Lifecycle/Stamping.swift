/// Gives the `aps.timestamp` of pushes (promise 3).
///
/// iOS drops a push whose timestamp is not newer than what it shows, and APNs still answers 200; one that lies far in
/// the future blocks all that come after (Apple forum 776165). So stamps of one activity only grow, differ between
/// revisions and stay close to the clock, which is the database's.
package enum Stamping {
    /// How far a stamp may run ahead of the clock, in seconds.
    package static let maximumLead: Int64 = 2
    /// A stamp older than this, in seconds, is not sent again; the send takes a fresh one.
    package static let maximumAge: Int64 = 30
    /// A last stamp further ahead than this, in seconds, was not reached by stamping: the clock stepped back.
    package static let skewThreshold: Int64 = 5

    /// The stamp of a change at accept; `nil` if it would run ahead of the clock, and then the sender stamps it.
    ///
    /// `last` is, here and below, the highest stamp ever given to a push of this activity.
    package static func atAccept(now: Timestamp, last: Timestamp?) -> Timestamp? {
        let stamp = whenSent(now: now, last: last)
        return stamp <= now + maximumLead ? stamp : nil
    }

    /// The stamp of a revision whose turn to be sent has come. Order wins over closeness to the clock.
    package static func whenSent(now: Timestamp, last: Timestamp?) -> Timestamp {
        guard let last else { return now }
        return max(now, last + 1)
    }

    /// How many seconds a sender should wait before it stamps, so that many quick passes do not run ahead of the clock.
    ///
    /// 0 if the clock stepped back: waiting would take as long as the step.
    package static func delayBeforeStamping(now: Timestamp, last: Timestamp?) -> Int64 {
        guard clockSkew(now: now, last: last) == nil else { return 0 }
        return max(0, whenSent(now: now, last: last) - now - maximumLead)
    }

    /// By how many seconds the clock seems to have stepped back; `nil` if it has not. To be reported as `clock_skew`.
    package static func clockSkew(now: Timestamp, last: Timestamp?) -> Int64? {
        guard let last, last > now + skewThreshold else { return nil }
        return last - now
    }

    /// Whether a send must take a fresh stamp of its revision because the one it has is older than ``maximumAge``, by
    /// that age in seconds.
    package static func needsFreshStamp(age: Double) -> Bool { age > Double(maximumAge) }
}
