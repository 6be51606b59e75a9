import APNSTransport
import ActivityModel
import Cards
import Channels
package import Postgres
import Registry
package import Store

/// A segment at rest, as the accept of a change reads it while it holds the activity.
///
/// Nearly every change meets such a one. A ring that nobody rides has passed the change the moment it is accepted: nobody
/// follows the match yet, or everybody listens to its channel. If a few ride it, or it is a channel, and the change is no
/// more than a new state, the push can leave without another look at the database.
///
/// A card that is owed a push is on the ring (`riding`) or due. Two things put a card on the ring: a worker with the
/// lease, and the transaction of a report (``Boarding``). Both raise ``wakes``. If it is unchanged since the look, nobody
/// has come. ``CatchUpTurn`` sends the newest revision to cards that register meanwhile.
package struct RestingSegment: Sendable {
    /// ``SegmentProgress/wakes`` when it was read.
    package let wakes: Int64
    /// The revision that it has come to, which is the activity's newest.
    private let begun: Revision
    /// Who is sent a routine change; nil if the segment has more to do than that.
    private let audience: PlainUpdate.Audience?

    /// Whether it is a ring that nobody rides.
    package var isEmpty: Bool { audience?.riders?.isEmpty == true }

    /// Whether it is a ring, the only segment of its activity, and a routine update gives it no work but to be sent.
    package var isPlainRing: Bool { audience?.riders?.isEmpty == false }

    /// The push for an update that is being accepted, under the lease of the accept. Nil if a worker must serve the segment.
    package func sending(_ update: RoutineUpdate, under lease: SegmentLease) -> PlainUpdate? {
        guard let audience, !isEmpty else { return nil }
        // The accept has raised `wakes`.
        return PlainUpdate(lease, update, wakes: wakes + 1, begun: begun, failures: 0, to: audience)
    }
}

extension RestingSegment {
    /// The columns that the initializer reads, beside the number of the segment `g` of the activity `a`.
    package static let columns = """
        CASE WHEN rest.is_resting THEN g.wakes END AS resting_since, g.completed_revision AS resting_at,
        CASE WHEN riders.count > 0 OR listeners.channel_id IS NOT NULL THEN \(isPlain) ELSE true END AS is_plain,
        riders.count AS riders, riders.keys, riders.tokens, riders.frequent, riders.failures, riders.known,
        riders.confirmed, riders.heard, listeners.channel_id, listeners.apns_channel_id, listeners.storage,
        listeners.is_settled
        """

    /// The tables of the ``columns``, behind those of `a` and `g`. Whoever does not rest costs no look at cards.
    package static let tables = """
        CROSS JOIN LATERAL (SELECT \(isResting) AS is_resting OFFSET 0) AS rest
        CROSS JOIN LATERAL (
            SELECT \(PlainUpdate.riders) FROM (
                SELECT \(Destination.columns) FROM subscriptions AS o
                WHERE rest.is_resting AND \(SegmentRows.isRing("g"))
                  AND activity_key = a.activity_key AND \(CardStanding.rides("o"))
                ORDER BY device_key LIMIT \(PlainUpdate.mostRiders + 1)
            ) AS d
        ) AS riders
        LEFT JOIN LATERAL (
            SELECT \(BroadcastAddress.columns) FROM channels AS n
            WHERE rest.is_resting AND \(SegmentRows.isChannel("g"))
              AND n.activity_key = a.activity_key AND \(BroadcastAddress.isReady) OFFSET 0
        ) AS listeners ON true
        """

    /// An SQL condition: the segment `g` of the activity `a` is at rest. No card of it is due, and no worker has it. It has
    /// completed the newest change.
    private static let isResting = """
        CASE WHEN g.due_at IS NULL AND g.lease_owner IS NULL AND g.lap_revision IS NULL
            AND g.completed_revision = a.revision AND a.state = 'live'
        THEN CASE WHEN \(SegmentRows.isChannel("g")) THEN \(DueCards.noneOnChannel)
            ELSE NOT a.enrolment_due AND \(DueCards.noneOnRings) AND \(CardVersions.areSettled) END
        ELSE false END
        """

    /// An SQL condition: only the cards of the segment `g` ask for the next change of the activity `a`, and sending does
    /// not stand still.
    private static let isPlain = """
        (g.cursor = 0 AND g.unsent_after IS NULL AND g.failures = 0 AND \(SegmentStore.isNotHalted) AND (
            \(SegmentRows.isChannel("g")) OR a.delivery = 'tokens' AND g.through_key = \(RingRange.whole.through)
                AND \(ActivitySnapshot.hasNoStartToSend)
        ))
        """

    /// A segment of this number; nil if it does not rest.
    package init?(_ segment: Int16, _ row: Row) throws {
        guard let wakes: Int64 = try row["resting_since"] else { return nil }
        self.wakes = wakes
        begun = try row["resting_at"]
        // What cannot be read is served by a worker, which says why. It must not refuse the changes of others.
        audience = try? Self.audience(of: segment, row)
    }

    private static func audience(of segment: Int16, _ row: Row) throws -> PlainUpdate.Audience? {
        let isPlain: Bool = try row["is_plain"]
        let riders: Int64 = try row["riders"]
        guard isPlain, riders <= PlainUpdate.mostRiders else { return nil }
        guard segment >= 0 else {
            return try BroadcastAddress(row, from: row.column(named: "channel_id")).map(PlainUpdate.Audience.channel)
        }
        return riders == 0 ? .riders([]) : try PlainUpdate.riders(in: row, from: row.column(named: "keys"))
    }
}
