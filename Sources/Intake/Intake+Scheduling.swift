import APITypes
import ActivityModel
import JSON
import Postgres
import Registry
import Store

extension Intake {
    /// Keeps a valid change until its time. The current followers must be able to decode its content. It is judged
    /// again when it runs.
    func schedule(
        _ kind: ChangeKind,
        at time: Instant,
        body: JSONValue,
        _ command: ChangeCommand
    ) async throws -> Replayable<ChangeAnswer> {
        try await keepingAnswer {
            try await database.withTransaction { connection in
                try await KeptAnswers.once(command.idempotencyKey, on: connection) {
                    if let contentState = command.contentState {
                        let rows = try await connection.query(AppVersionRows.selection([command.activity.key]))
                        _ = try Followers(rows: rows).settle(contentState, of: command.activity)
                    }
                    let rows = try await connection.query(
                        """
                        INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body, request_id, traceparent)
                        SELECT activity_key, bundle_id, \(kind.rawValue)::schedule_kind, \(time.stored),
                               \(body.text)::json, \(command.origin?.requestID), \(command.origin?.trace?.description)
                        FROM activities WHERE activity_key = \(command.activity.key) AND state <> 'ended'
                        RETURNING schedule_id::text
                        """
                    )
                    guard let id = try rows.single(String.self) else { throw Problem.activityEnded() }
                    return ChangeAnswer.scheduled(scheduleID: id)
                }
            }
        }
    }
}
