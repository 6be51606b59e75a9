package import APITypes
package import ActivityModel
import JSON
import Postgres

extension Orchestrator {
    /// Adds to and removes from the audience of an activity. Whoever was started stays started; a start that has not
    /// left yet does not leave any more once its device is removed.
    ///
    /// The same request again changes nothing but what others have changed since: with an idempotency key not even
    /// that.
    ///
    /// - Throws: 404; 409 `activity_ended`; 422 `alert_required` if somebody is added and the start had no alert.
    package func changeAudience(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: AudienceRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> AudienceCounts {
        let facts = try await facts(app, id)
        if let add = request.add, !add.isEmpty, facts.startAlert == nil { throw Problem.alertRequired() }
        let kept: AudienceCounts? = try await keepingAnswer {
            // A report settles starts in an order of its own.
            try await database.withYieldingTransaction { connection in
                guard let idempotency else {
                    try await Self.changeAudience(of: facts.key, of: app, request, on: connection)
                    return nil
                }
                return try await KeptAnswers.once(idempotency, on: connection) {
                    try await Self.changeAudience(of: facts.key, of: app, request, on: connection)
                    return try await AudienceCount.of(facts.key) { try await connection.pipeline($0) }
                }
            }
        }
        wakeUps.signal()
        if let kept { return kept }
        // Counting many takes a while, in which the activity need not be locked.
        return try await AudienceCount.of(facts.key) { try await database.pipeline($0) }
    }

    private static func changeAudience(
        of activityKey: Int64,
        of app: BundleID,
        _ request: AudienceRequest,
        on connection: PostgresConnection
    ) async throws {
        let rows = try await connection.query(
            "SELECT state::text FROM activities WHERE activity_key = \(activityKey) FOR NO KEY UPDATE"
        )
        guard let state = try rows.single(String.self) else { throw Problem.notFound("the activity") }
        if state == ActivityState.ended.rawValue { throw Problem.activityEnded() }
        var statements: [Query] = []
        let remove = request.remove.flatMap { $0.isEmpty ? nil : $0 }
        if let remove {
            statements += AudienceRows.deletion(remove, activityKey: activityKey)
            if remove.allOfType {
                statements.append("UPDATE activities SET audience_all = false WHERE activity_key = \(activityKey)")
            }
        }
        if let add = request.add, !add.isEmpty {
            statements += AudienceRows.insertion(add, app: app, activityKey: activityKey)
            statements.append(
                """
                UPDATE activities SET enrolment_due = true, audience_all = audience_all OR \(add.allOfType),
                    enrolled_devices = CASE WHEN \(add.allOfType) THEN least(enrolled_devices, 0) - 1 ELSE enrolled_devices END
                WHERE activity_key = \(activityKey)
                """
            )
        }
        if let remove {
            statements.append(AudienceRows.recall(remove, activityKey: activityKey))
        }
        statements.append(SegmentStore.wake(activityKeys: [activityKey], segments: .rings))
        _ = try await connection.pipeline(statements)
    }
}
