package import Postgres

/// SQL over the rows of `segments` and `wake_ups`. A transaction that makes work gives it to the segments. A worker
/// leases segments and stores its progress.
package enum SegmentRows {
    /// The segment number of an activity's channel; rings are numbered from 0.
    package static let channelSegment: Int16 = -1
    /// The ring that every activity has from its beginning; the starts are its work, too.
    package static let firstRing: Int16 = 0

    /// The condition that the segment `g` is a ring: it sends to phones by their own tokens.
    package static func isRing(_ g: String) -> String { "\(g).segment >= \(firstRing)" }

    /// The condition that the segment `g` is the ring that also sends the starts.
    package static func isFirstRing(_ g: String) -> String { "\(g).segment = \(firstRing)" }

    /// The condition that the segment `g` is the channel: what it sends reaches all phones that listen.
    package static func isChannel(_ g: String) -> String { "\(g).segment = \(channelSegment)" }

    // MARK: Giving work

    /// An SQL expression: when the segment `s` becomes due if it gets work now. New work does not cut the pause after a
    /// failure short (promise 2). A pause of more than two hours means that the clock was set back, and does not count.
    package static func dueNow(_ s: String, now: String = "clock_timestamp()") -> String {
        """
        least(\(s).due_at, greatest(\(now), CASE WHEN \(s).retry_at < \(now) + interval '2 hours' THEN \(s).retry_at END))
        """
    }

    /// The statement that gives segments work that is due now; for the transaction that makes the work.
    ///
    /// Whoever wakes several segments locks them in one order, so that two never wait for each other.
    package static func wake(activityKeys: [Int64], segments: WakeTarget = .all) -> Query {
        """
        WITH woken AS MATERIALIZED (
            SELECT activity_key, segment FROM segments
            WHERE activity_key = ANY(\(activityKeys)) AND (\(segments == .all) OR segment >= 0)
            ORDER BY activity_key, segment FOR NO KEY UPDATE
        )
        UPDATE segments AS s SET due_at = \(unescaped: dueNow("s")), wakes = s.wakes + 1
        FROM woken WHERE s.activity_key = woken.activity_key AND s.segment = woken.segment
          AND s.activity_key = ANY(\(activityKeys))
        """
    }

    /// The statement that gives the ring work that holds a device; without one, the first.
    package static func wake(activityKey: Int64, ringOf deviceKey: Int64?) -> Query {
        """
        UPDATE segments AS s SET due_at = \(unescaped: dueNow("s")), wakes = s.wakes + 1
        WHERE activity_key = \(activityKey) AND segment >= 0
          AND CASE WHEN \(deviceKey)::bigint IS NULL THEN segment = 0 ELSE \(deviceKey) > after_key AND \(deviceKey) <= through_key END
        """
    }

    /// Which segments of an activity are woken.
    package enum WakeTarget: Sendable {
        case all
        /// The rings only: work that concerns tokens.
        case rings
    }

    // MARK: Cards on a ring

    /// The condition that the segment `g` is the ring that holds a card.
    package static func isRing(of card: String) -> String {
        """
        (g.activity_key = \(card).activity_key AND \(isRing("g"))
         AND \(card).device_key > g.after_key AND \(card).device_key <= g.through_key)
        """
    }

    /// The condition that a walk has passed a destination since its cursor stood at an origin; null without an origin.
    /// The segment's row is `g`.
    package static func hasPassed(_ deviceKey: String, since origin: String) -> String {
        """
        (CASE WHEN g.cursor >= \(origin) THEN \(deviceKey) > \(origin) AND \(deviceKey) <= g.cursor
         WHEN g.cursor < \(origin) THEN \(deviceKey) > \(origin) OR \(deviceKey) <= g.cursor END)
        """
    }

    /// What a rider `s` of the ring has been sent at least.
    package static let sentOnRing = """
        (SELECT greatest(s.known_revision, g.completed_revision, CASE
             WHEN \(hasPassed("s.device_key", since: "g.lap_origin")) THEN g.lap_revision END)
         FROM segments AS g WHERE \(isRing(of: "s")))
        """

    /// What a rider `s` has been sent at least, on its ring or through the channel.
    package static let sentToRider = """
        (CASE WHEN s.mode = 'token' THEN \(sentOnRing)
         ELSE (SELECT greatest(s.known_revision, g.completed_revision) FROM segments AS g
               WHERE g.activity_key = s.activity_key AND \(isChannel("g"))) END)
        """

    /// What a card `s` has been sent at least. Only the ring or the channel knows it of a rider. So a statement that ends a
    /// card keeps this as its `known_revision`.
    package static let sentToCard = """
        (CASE WHEN s.state = 'riding' THEN greatest(s.known_revision, \(sentToRider)) ELSE s.known_revision END)
        """

    /// The condition that a rider `s` of the ring `g` has been sent a revision; what ``sentOnRing`` compares, for many
    /// riders of a ring that is read once.
    package static func hasSent(_ revision: String) -> String {
        """
        (s.known_revision >= \(revision) OR g.completed_revision >= \(revision)
         OR (g.lap_revision >= \(revision) AND \(hasPassed("s.device_key", since: "g.lap_origin"))))
        """
    }

    /// The state of a card `s` of the activity `a`, as people read it. A rider that was sent the end is over; its row
    /// stays as it is.
    package static let readState = """
        (CASE WHEN s.state = 'riding' AND a.state = 'ended' AND \(sentToRider) >= a.revision
         THEN 'over' ELSE s.state END)
        """

    /// What a rider `s` of the ring has heard: that depends on whether the walk has passed it.
    package static let heardOnRing = """
        (SELECT greatest(s.known_revision, CASE
             WHEN g.lap_revision IS NULL THEN g.completed_revision
             WHEN \(hasPassed("s.device_key", since: "g.lap_origin")) THEN g.lap_revision
             WHEN NOT \(hasPassed("s.device_key", since: "g.alert_origin")) THEN g.alert_revision - 1
             ELSE g.lap_revision - 1 END)
         FROM segments AS g WHERE \(isRing(of: "s")))
        """
}
