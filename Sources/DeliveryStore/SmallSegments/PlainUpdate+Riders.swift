import ActivityModel
import Cards
import FoundationEssentials
import Postgres
import Store

/// Routine changes to a few riders of a ring, the only one of its activity.
extension PlainUpdate {
    /// The most riders. With so few, the sender does not check again whether it may continue (promise 5).
    static let mostRiders = 16

    /// The columns of all riders in one row, behind their number. The rows of the riders are `d`.
    static let riders = """
        count(*) AS count, array_agg(d.device_key) AS keys, array_agg(d.update_token) AS tokens,
        array_agg(d.frequent) AS frequent, array_agg(d.failures) AS failures, array_agg(d.known_revision) AS known,
        array_agg(d.confirmed_revision) AS confirmed, array_agg(d.heard_revision) AS heard
        """

    /// Reads the columns of ``riders``, without their number, which begin at a column. There is one at least.
    static func riders(in row: Row, from first: Int) throws -> Audience {
        let keys = try row.decode([Int64].self, at: first)
        let tokens = try row.decode([[UInt8]].self, at: first + 1)
        let frequent = try row.decode([Bool].self, at: first + 2)
        let tries = try row.decode([Int16].self, at: first + 3)
        let known = try row.decode([Int64].self, at: first + 4)
        let confirmed = try row.decode([Int64].self, at: first + 5)
        let heard = try row.decode([Int64].self, at: first + 6)
        let riders = keys.indices.compactMap { index -> Destination? in
            // A CHECK keeps the length within the bounds that make this nil.
            guard let token = PushToken(bytes: tokens[index]) else { return nil }
            return Destination(
                deviceKey: keys[index],
                token: token,
                frequent: frequent[index],
                failures: Int(tries[index]),
                knownRevision: known[index],
                confirmedRevision: confirmed[index],
                heardRevision: heard[index],
                leaving: false
            )
        }
        return .riders(riders)
    }

    /// Selects those among the rings of some activities that a daemon has leased.
    ///
    /// Only routine changes have come since the walk of the ring rested, and the newest may leave under its stamp. No start,
    /// no row of its own and no halt asks for more.
    static func selectionOfRings(_ keys: [Int64], of daemon: UUID) -> Query {
        """
        SELECT \(unescaped: columns), r.keys, r.tokens, r.frequent, r.failures, r.known, r.confirmed, r.heard
        FROM unnest(\(keys)) AS l(activity_key)
        CROSS JOIN LATERAL (
            SELECT * FROM segments AS g WHERE activity_key = l.activity_key AND \(unescaped: SegmentRows.isFirstRing("g"))
              AND \(part: SegmentRows.isLeased("g", by: daemon)) AND through_key = \(RingRange.whole.through) OFFSET 0
        ) AS s
        \(unescaped: RoutineUpdate.tables)
        CROSS JOIN LATERAL (
            SELECT \(unescaped: riders) FROM (
                -- By the key of the lease: else the planner may look at the riders of all activities first.
                SELECT \(unescaped: Destination.columns) FROM subscriptions AS o
                WHERE activity_key = l.activity_key AND \(unescaped: CardStanding.rides("o"))
                  AND known_revision < a.revision
                ORDER BY device_key LIMIT \(mostRiders + 1)
            ) AS d
        ) AS r
        WHERE \(unescaped: RoutineUpdate.condition) AND a.delivery = 'tokens' AND NOT a.enrolment_due
          AND r.count BETWEEN 1 AND \(mostRiders)
          AND \(unescaped: ActivitySnapshot.hasNoStartToSend)
          AND \(unescaped: DueCards.noneOnRings)
          AND \(unescaped: CardVersions.areSettled)
        """
    }
}
