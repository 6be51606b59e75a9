import APITypes
import ActivityModel
import JSON
import Postgres
import Store

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
        """
        SELECT a.bundle_id, a.activity_id, a.activity_key, a.state::text, a.start_body::text
        FROM unnest(\(names.map(\.app.rawValue)), \(names.map(\.id.rawValue))) AS n(bundle_id, activity_id)
        CROSS JOIN LATERAL (
            SELECT * FROM activities WHERE bundle_id = n.bundle_id AND activity_id = n.activity_id OFFSET 0
        ) AS a
        """
    }

    /// Those whose ids are taken.
    static func read(_ rows: Rows) throws -> [ActivityFacts.Name: StoredStart] {
        var stored: [ActivityFacts.Name: StoredStart] = [:]
        for (app, id, key, state, body) in try rows.decoded(as: (String, String, Int64, String, String).self) {
            let name = ActivityFacts.Name(app: BundleID(stored: app), id: ActivityID(stored: id))
            stored[name] = StoredStart(
                activityKey: key,
                record: StartRecord(body: try JSONValue(parsing: body).object ?? JSONObject()),
                state: try .stored(state)
            )
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
