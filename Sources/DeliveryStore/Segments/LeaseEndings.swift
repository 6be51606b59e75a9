import Cards
import Channels
import Postgres
package import Store

/// The ways in which a lease ends before its time. None does anything to a lease that is lost.
extension SegmentStore {
    /// Ends the lease until there is work again. Work that cannot be served now does not count, whatever its time: the
    /// work of a scheduled activity, and work that needs a channel that does not exist yet. Whoever makes it possible
    /// wakes the segment.
    ///
    /// `wakesSeen` are ``SegmentProgress/wakes`` as they were before the worker looked for work and found none. False
    /// if the segment got work meanwhile (the lease stays), or if the lease is lost.
    ///
    /// `hold`: how long a change is still held back.
    package func rest(_ lease: SegmentLease, wakesSeen: Int64, hold: Duration? = nil) async throws -> Bool {
        try await database.execute(resting(lease, wakesSeen: wakesSeen, hold: hold)) > 0
    }

    func resting(_ lease: SegmentLease, wakesSeen: Int64, hold: Duration?) -> Query {
        SegmentRows.ending(
            lease,
            dueIn: hold,
            orAt: lease.isChannel ? Self.restOfChannel : Self.restOfRing,
            failures: "0",
            ifStill: wakesSeen
        )
    }

    /// Ends the lease for a while because what is there to do comes too early.
    ///
    /// - Returns: As ``rest(_:wakesSeen:hold:)``.
    package func pause(_ lease: SegmentLease, wakesSeen: Int64, for delay: Duration) async throws -> Bool {
        try await database.execute(SegmentRows.ending(lease, dueIn: delay, ifStill: wakesSeen)) > 0
    }

    /// Ends the lease for a while after a failure of the segment as a whole. New work does not cut that pause short.
    package func backOff(_ lease: SegmentLease, for delay: Duration) async throws {
        let failures = "least(s.failures + 1, 1000)"
        _ = try await database.execute(SegmentRows.ending(lease, dueIn: delay, failures: failures, isFailure: true))
    }

    /// Gives the lease back at once, so that another daemon can continue.
    package func release(_ lease: SegmentLease) async throws {
        _ = try await database.execute(SegmentRows.ending(lease, dueIn: nil, orAt: "s.due_at"))
    }

    /// Gives the lease back with work left, which is due behind all that is due already.
    package func queueAgain(_ lease: SegmentLease) async throws {
        _ = try await database.execute(SegmentRows.ending(lease, dueIn: .zero))
    }

    private static let restOfChannel = restOfChannel(at: "s.completed_revision")
    private static let restOfRing = next(nextOfRing)

    /// An SQL expression: when the segment `s` has something to do that has a time, of the activity `a`.
    private static func next(_ time: String) -> String {
        """
        (SELECT CASE WHEN a.state <> 'scheduled' THEN \(time) END FROM activities AS a WHERE a.activity_key = s.activity_key)
        """
    }

    /// An SQL expression: when the channel's segment `s` has something to do, if it has broadcast so far. That is when
    /// somebody who joined late is owed a broadcast.
    static func restOfChannel(at completed: String) -> String {
        next(
            """
            least(
                (SELECT min(d.due_at) FROM subscriptions AS d
                 WHERE d.activity_key = a.activity_key AND \(CardStanding.isOwedBroadcast("d"))
                   AND EXISTS (SELECT FROM channels AS c
                               WHERE c.activity_key = d.activity_key AND \(ChannelStanding.isReady("c")))),
                \(LateStarts.due(at: completed))
            )
            """
        )
    }

    /// An SQL expression: when the ring `s` of the activity `a` has something to do that has a time, if ever. Starts
    /// are the first ring's.
    private static let nextOfRing = """
        least(
            \(DueCards.next),
            (SELECT min(d.due_at) FROM starts AS d
             WHERE \(SegmentRows.isFirstRing("s")) AND d.activity_key = a.activity_key AND d.due_at IS NOT NULL
               AND \(ChannelRows.mayStart))
        )
        """
}
