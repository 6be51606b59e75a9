import APITypes
import ActivityModel
import DeliveryStore
import JSON
import Postgres

/// An activity whose id a start asks for again.
struct StoredStart {
    let activityKey: Int64
    private let record: StartRecord
    private let state: ActivityState

    /// Nil if the id is free.
    static func read(_ name: ActivityFacts.Name, from database: Database) async throws -> StoredStart? {
        try read(await database.query(selection([name])))[name]
    }

    /// The statement whose rows ``read(_:)`` reads.
    static func selection(_ names: [ActivityFacts.Name]) -> Query {
        KeptStart.selection(names.map { (app: $0.app, id: $0.id) })
    }

    /// Those whose ids are taken.
    static func read(_ rows: Rows) throws -> [ActivityFacts.Name: StoredStart] {
        var stored: [ActivityFacts.Name: StoredStart] = [:]
        for row in rows {
            let start = try KeptStart(row)
            let name = ActivityFacts.Name(app: start.app, id: start.id)
            stored[name] = StoredStart(activityKey: start.activityKey, record: start.record, state: start.state)
        }
        return stored
    }

    /// Passes if the request is the very start that was accepted.
    ///
    /// - Throws: 409 `attributes_conflict` or `activity_exists`.
    func judgeReplay(_ request: StartRequest) throws(Problem) {
        switch record.judge(StartRecord(body: request.json.object ?? JSONObject()), in: state) {
        case .replay: return
        case .refuseAttributesConflict: throw .attributesConflict()
        case .refuseActivityExists: throw .activityExists()
        }
    }
}
