import Postgres

@testable import Orchestrator

/// Promise 12: several daemons can carry one activity, and nobody is forgotten or served twice by that.
extension Universe {
    func checkRings() async throws {
        let rings = try await clock.database.query(
            """
            SELECT a.activity_id, g.after_key, coalesce(lag(g.through_key) OVER of_activity, 0), g.through_key,
                   lead(g.after_key) OVER of_activity IS NULL
            FROM segments AS g JOIN activities AS a USING (activity_key) WHERE g.segment >= 0
            WINDOW of_activity AS (PARTITION BY g.activity_key ORDER BY g.after_key)
            """
        )
        for (activity, after, before, through, isLast) in try rings.decoded(
            as: (String, Int64, Int64, Int64, Bool).self
        ) {
            guard after == before, !isLast || through == .max else {
                throw BrokenPromise(12, "the rings of \(activity) do not hold every device once")
            }
            if after > 0 { hasDividedRings = true }
        }
    }
}
