package import APITypes
package import ActivityModel
import JSON
import Postgres

extension Orchestrator {
    /// Accepts a new state of an activity, or schedules it.
    ///
    /// - Throws: 404 for an unknown activity, 409 `activity_ended` or `late_event`, 422 for content that the type refuses
    ///   or that is too large, 429 `too_many_must_deliver`. Nothing is changed then.
    package func update(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> ChangeAnswer {
        try await tellingRefusal(of: .update, app, id) {
            try await withCurrentType {
                let command = try await command(app, id, request, idempotencyKey: idempotency)
                if let time = request.at {
                    return try await schedule(.update, at: time, body: request.json, command)
                }
                return try await intake.accept(command)
            }
        }
    }

    /// Accepts the end of an activity, or schedules it. The end is final.
    ///
    /// - Throws: As ``update(_:_:_:idempotency:)``.
    package func end(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotency: IdempotencyKey? = nil
    ) async throws -> ChangeAnswer {
        try await tellingRefusal(of: .end, app, id) {
            try await withCurrentType {
                let command = try await command(app, id, request, idempotencyKey: idempotency)
                if let time = request.at {
                    return try await schedule(.end, at: time, body: request.json, command)
                }
                return try await intake.accept(command)
            }
        }
    }

    /// Lets the timeline of an activity tell which requests came to nothing: a card may stand still for that alone.
    private func tellingRefusal<Answer>(
        of event: TimelineRow.Event,
        _ app: BundleID,
        _ id: ActivityID,
        _ accept: () async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await accept()
        } catch let problem as Problem where (400..<500).contains(problem.status) {
            let name = ActivityFacts.Name(app: app, id: id)
            if case .fresh(let facts) = facts.lookUp(name) {
                timeline.record(problem, refusing: event, of: facts.key)
            }
            throw problem
        }
    }

    func command(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: UpdateRequest,
        idempotencyKey: IdempotencyKey? = nil,
        scheduleID: String? = nil
    ) async throws -> ChangeCommand {
        let facts = try await facts(app, id)
        let type = try await typeContext(app, facts.typeName)
        let contentState = JudgedContent(request.contentState, as: .contentState, by: type)
        return ChangeCommand(
            activity: facts,
            activityID: id,
            kind: .update(
                contentState: contentState,
                urgency: request.urgency,
                mustDeliver: request.mustDeliver,
                eventTime: request.eventTime,
                force: request.force
            ),
            alert: request.alert,
            staleAfterSeconds: request.staleAfterSeconds.map(Int.init),
            relevanceScore: request.relevanceScore,
            type: type,
            idempotencyKey: idempotencyKey,
            scheduleID: scheduleID
        )
    }

    func command(
        _ app: BundleID,
        _ id: ActivityID,
        _ request: EndRequest,
        idempotencyKey: IdempotencyKey? = nil,
        scheduleID: String? = nil
    ) async throws -> ChangeCommand {
        let facts = try await facts(app, id)
        let type = try await typeContext(app, facts.typeName)
        let contentState = request.contentState.map { JudgedContent($0, as: .contentState, by: type) }
        var dismissAfterSeconds: Int?
        var dismissAt: Instant?
        switch request.dismissal {
        case .after(let seconds): dismissAfterSeconds = Int(seconds)
        case .at(let time): dismissAt = time
        case nil: break
        }
        return ChangeCommand(
            activity: facts,
            activityID: id,
            kind: .end(contentState: contentState, dismissAfterSeconds: dismissAfterSeconds, dismissAt: dismissAt),
            alert: request.alert,
            staleAfterSeconds: nil,
            relevanceScore: nil,
            type: type,
            idempotencyKey: idempotencyKey,
            scheduleID: scheduleID
        )
    }
}
