import APITypes
import ActivityModel
import JSON
import Postgres

/// An activity whose id a start asks for again.
struct StoredStart {
    private let machine: ActivityStateMachine

    /// Nil if the id is free.
    static func read(_ app: BundleID, _ id: ActivityID, from database: Database) async throws -> StoredStart? {
        let rows = try await database.query(
            """
            SELECT state::text, start_body::text, revision FROM activities
            WHERE bundle_id = \(app.rawValue) AND activity_id = \(id.rawValue)
            """
        )
        guard let (state, body, revision) = try rows.first(as: (String, String, Int64).self) else { return nil }
        let standing = ActivityStanding(
            start: StartRecord(body: try JSONValue(parsing: body).object ?? JSONObject()),
            revision: revision,
            lastTimestamp: nil,
            contentState: .null
        )
        return StoredStart(machine: ActivityStateMachine(state: try .stored(state), standing: standing))
    }

    /// Passes if the request is the very start that was accepted.
    ///
    /// - Throws: 409 `attributes_conflict` or `activity_exists`.
    func judgeReplay(_ request: StartRequest) throws(Problem) {
        var machine = machine
        let record = StartRecord(body: request.json.object ?? JSONObject())
        switch machine.start(record, contentState: .object(request.contentState), now: 0) {
        case .replay: return
        case .refuseAttributesConflict: throw .attributesConflict()
        case .refuseActivityExists, .accept, .schedule: throw .activityExists()
        }
    }
}
