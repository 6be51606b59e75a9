package import APITypes
package import ActivityModel
import JSON
import Postgres

extension Orchestrator {
    /// Adds to and removes from the audience of an activity. Whoever was started stays started; a start that has not
    /// left yet does not leave any more once its device is removed.
    ///
    /// The same request again changes nothing, so it needs no idempotency key.
    ///
    /// - Throws: 404; 409 `activity_ended`; 422 `alert_required` if somebody is added and the start had no alert.
    package func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> AudienceCounts {
        let facts = try await facts(app, id)
        let adds = request.add.map { !$0.isEmpty } ?? false
        if adds, facts.startAlert == nil { throw Problem.alertRequired() }
        try await database.withTransaction { connection in
            let rows = try await connection.query(
                "SELECT state::text FROM activities WHERE activity_key = \(facts.key) FOR NO KEY UPDATE"
            )
            guard let state = try rows.single(String.self) else { throw Problem.notFound("the activity") }
            if state == ActivityState.ended.rawValue { throw Problem.activityEnded() }
            var statements: [Query] = []
            if let remove = request.remove {
                statements += AudienceRows.deletion(remove, activityKey: facts.key)
                if remove.allOfType {
                    statements.append("UPDATE activities SET audience_all = false WHERE activity_key = \(facts.key)")
                }
            }
            if adds, let add = request.add {
                statements += AudienceRows.insertion(add, app: app, activityKey: facts.key)
                statements.append(
                    """
                    UPDATE activities SET enrolment_due = true, audience_all = audience_all OR \(add.allOfType)
                    WHERE activity_key = \(facts.key)
                    """
                )
            }
            if request.remove != nil {
                statements.append(AudienceRows.recall(activityKey: facts.key))
            }
            statements.append(SegmentStore.wake(activityKeys: [facts.key], segments: .rings))
            _ = try await connection.pipeline(statements)
        }
        wakeUps.signal()
        return try await audienceCounts(facts.key)
    }

    /// How many an audience reaches now.
    func audienceCounts(_ activityKey: Int64) async throws -> AudienceCounts {
        try await AudienceRows.counts(activityKey) { try await database.query($0) }
    }
}
