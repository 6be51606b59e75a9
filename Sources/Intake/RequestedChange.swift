package import APITypes
package import ActivityModel
import DeliveryStore
import JSON
package import Postgres
import Registry
package import Store

/// One requested update or end. Tally has not looked up its activity yet.
package struct RequestedChange: Sendable {
    /// The request. Boxed, because a copy of a request would retain each of its dozen fields.
    package indirect enum Body: Sendable {
        case update(UpdateRequest)
        case end(EndRequest)
    }

    let app: BundleID
    let id: ActivityID
    let body: Body
    var idempotencyKey: IdempotencyKey.Deferred?
    /// The schedule that this runs.
    var scheduleID: String?
    /// The request that brought it; nil if Tally itself made the change.
    let origin: RequestOrigin?
    /// The statements that put the request on record, committed with the change.
    var records: [Query] = []

    package init(
        app: BundleID,
        id: ActivityID,
        body: Body,
        idempotencyKey: IdempotencyKey.Deferred? = nil,
        scheduleID: String? = nil,
        origin: RequestOrigin?,
        records: [Query] = []
    ) {
        self.app = app
        self.id = id
        self.body = body
        self.idempotencyKey = idempotencyKey
        self.scheduleID = scheduleID
        self.origin = origin
        self.records = records
    }

    var name: ActivityFacts.Name { ActivityFacts.Name(app: app, id: id) }

    /// When it is to be accepted, as the request says; nil: now.
    var at: Instant? {
        // A schedule that is run was due, whatever its body said.
        guard scheduleID == nil else { return nil }
        return switch body {
        case .update(let request): request.at
        case .end(let request): request.at
        }
    }

    /// When it is to be accepted; nil: now. A time in the past means now.
    ///
    /// - `now`: the database's time; nil if it is not known.
    func time(after now: PGTimestamp?) -> Instant? {
        if let at, let now, at.stored <= now { return nil }
        return at
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
    ///
    /// - Throws: 422 `payload_too_large` for a content state that is far too long.
    func command(_ facts: ActivityFacts, _ type: TypeContext) throws(Problem) -> ChangeCommand {
        let contentState: JSONObject? =
            switch body {
            case .update(let request): request.contentState
            case .end(let request): request.contentState
            }
        let judged = try contentState.map { content throws(Problem) in
            try JudgedContent(content, as: .contentState, by: type)
        }
        return ChangeCommand(self, judged, of: facts, type)
    }
}
