import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// An activity whose id a start asks for again.
struct StoredStart {
    private let record: StartRecord
    private let state: ActivityState

    /// Nil if the id is free.
    static func read(_ app: BundleID, _ id: ActivityID, from database: Database) async throws -> StoredStart? {
        try read(await database.query(selection(app, id)))
    }

    /// The statement whose rows ``read(_:)`` reads.
    static func selection(_ app: BundleID, _ id: ActivityID) -> Query {
        """
        SELECT state::text, start_body::text FROM activities
        WHERE bundle_id = \(app.rawValue) AND activity_id = \(id.rawValue)
        """
    }

    /// Nil if the id is free.
    static func read(_ rows: Rows) throws -> StoredStart? {
        guard let (state, body) = try rows.first(as: (String, String).self) else { return nil }
        return StoredStart(
            record: StartRecord(body: try JSONValue(parsing: body).object ?? JSONObject()),
            state: try .stored(state)
        )
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
