import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Registry
import Store

extension Intake {
    /// Keeps a valid change until its time. The current followers must be able to decode its content. It is judged
    /// again when it runs.
    ///
    /// - Throws: 409 after the end, 422.
    func schedule(
        _ kind: ChangeKind,
        at time: Instant,
        body: JSONValue,
        _ command: ChangeCommand
    ) async throws -> Replayable<ChangeAnswer> {
        if let eventTime = command.eventTime?.microseconds,
            ActivityStateMachine.isFuture(eventTime, at: time.unixSeconds)
        {
            throw Problem.futureEvent(limit: ActivityStateMachine.maximumEventLead)
        }
        return try await keepingAnswer {
            try await database.withTransaction { connection in
                try await KeptAnswers.once(command.idempotencyKey, on: connection) {
                    if let contentState = command.contentState {
                        let rows = try await connection.query(AppVersionRows.selection([command.activity.key]))
                        _ = try Followers(rows: rows).settle(contentState, of: command.activity)
                    }
                    let rows = try await connection.query(
                        ScheduleRows.insertion(
                            kind,
                            at: time.stored,
                            body: body.text,
                            activityKey: command.activity.key,
                            origin: command.origin
                        )
                    )
                    guard let id = try rows.single(String.self) else { throw Problem.activityEnded() }
                    return ChangeAnswer.scheduled(scheduleID: id)
                }
            }
        }
    }
}
