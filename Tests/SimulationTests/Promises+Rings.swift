import ActivityModel
import Postgres

@testable import APNSTransport
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
        try await checkMerges()
    }

    /// What was sent is merged by none.
    private func checkMerges() async throws {
        let rows = try await clock.database.query(
            """
            SELECT a.activity_id, c.revision, (c.content_state->>'score')::bigint, c.kind::text, c.merged_into, c.is_sent
            FROM changes AS c JOIN activities AS a USING (activity_key) WHERE c.merged_into IS NOT NULL
            """
        )
        let (sent, broken) = apple.with { state in (state.sent.filter { $0.push.event != "start" }, state.brokenTurns) }
        let byScore = Dictionary(grouping: sent) { $0.push.content?.score ?? 0 }
        for (activity, revision, score, kind, merged, isSent) in try rows.decoded(
            as: (String, Int64, Int64, String, Int64, Bool).self
        ) {
            // What a daemon has sent that died before it had stored that, nobody knows of.
            let isKnown = byScore[score, default: []].contains { sent in
                sent.push.event == kind && sent.push.content?.match == activity && sent.outcome.isAccepted
                    && !broken.contains(sent.turn.number)
            }
            guard !isSent, !isKnown else {
                throw BrokenPromise(4, "revision \(revision) of \(activity) was sent, and merged into \(merged)")
            }
        }
    }
}
