import APITypes
import ActivityModel
import JSON
import Postgres

/// One update or end as it was asked for, before anything is known of its activity.
struct RequestedChange: Sendable {
    enum Body: Sendable {
        case update(UpdateRequest)
        case end(EndRequest)
    }

    let app: BundleID
    let id: ActivityID
    let body: Body
    var idempotencyKey: IdempotencyKey?
    /// The schedule that this runs.
    var scheduleID: String?
    /// The request that brought it; nil for what Tally does by itself.
    var origin = RequestOrigin.current
    /// What puts the request on record, committed with the change.
    var records: [Query] = []

    var name: ActivityFacts.Name { ActivityFacts.Name(app: app, id: id) }

    /// When it is to be accepted; nil: now.
    var at: Instant? {
        // A schedule that is run was due, whatever its body said.
        guard scheduleID == nil else { return nil }
        return switch body {
        case .update(let request): request.at
        case .end(let request): request.at
        }
    }

    var kind: ChangeKind {
        switch body {
        case .update: .update
        case .end: .end
        }
    }

    var json: JSONValue {
        switch body {
        case .update(let request): request.json
        case .end(let request): request.json
        }
    }

    /// What is to be accepted.
    func command(_ facts: ActivityFacts, _ type: TypeContext) -> ChangeCommand {
        switch body {
        case .update(let request): update(request, facts, type)
        case .end(let request): end(request, facts, type)
        }
    }

    private func update(
        _ request: UpdateRequest,
        _ facts: ActivityFacts,
        _ type: TypeContext
    ) -> ChangeCommand {
        ChangeCommand(
            activity: facts,
            activityID: id,
            kind: .update(
                contentState: JudgedContent(request.contentState, as: .contentState, by: type),
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
            scheduleID: scheduleID,
            origin: origin,
            records: records
        )
    }

    private func end(
        _ request: EndRequest,
        _ facts: ActivityFacts,
        _ type: TypeContext
    ) -> ChangeCommand {
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
            scheduleID: scheduleID,
            origin: origin,
            records: records
        )
    }
}
