package import Postgres

// Several rings of one activity.
extension SegmentRows {
    /// The statement that counts the rings of an activity.
    package static func ringCount(of activityKey: Int64) -> Query {
        "SELECT count(*) FROM segments AS o WHERE o.activity_key = \(activityKey) AND \(unescaped: isRing("o"))"
    }

    /// The statement that divides a leased ring. The ring keeps the device keys up to the first cut. Each new ring
    /// takes the keys up to the next cut, and the last ring those up to `last`. It returns the numbers of the new
    /// rings, or no row if the lease is lost.
    ///
    /// Each new ring takes over the cursor and the laps. Rings are numbered in the order of their making.
    package static func division(
        of lease: SegmentLease,
        at cuts: [Int64],
        through last: Int64,
        firstNumber: Int16
    ) -> Query {
        let numbers = cuts.indices.map { firstNumber + Int16($0) }
        let ends = Array(cuts.dropFirst()) + [last]
        return """
            WITH mine AS (
                UPDATE segments SET through_key = \(cuts[0])
                WHERE \(part: isRunning(lease))
                RETURNING *
            )
            INSERT INTO segments (activity_key, segment, after_key, through_key, due_at, completed_revision, lap_revision,
                lap_origin, alert_revision, alert_origin, alert_stamp, unsent_after, cursor, pushed_at)
            SELECT m.activity_key, n.segment, n.after_key, n.through_key, clock_timestamp(), m.completed_revision,
                   m.lap_revision, m.lap_origin, m.alert_revision, m.alert_origin, m.alert_stamp,
                   m.unsent_after, m.cursor, m.pushed_at
            FROM mine AS m, unnest(\(numbers), \(cuts), \(ends)) AS n(segment, after_key, through_key)
            RETURNING segment
            """
    }
}
