package import ActivityModel
import JSON
package import Postgres
import Store

/// The start of an activity as it is kept, by which a start of the same id is judged.
package struct KeptStart: Sendable {
    package let activityKey: Int64
    /// The state of the activity.
    package let state: ActivityState
    package let record: StartRecord

    /// Nil if the id is free.
    package static func read(_ name: ActivityFacts.Name, from database: Database) async throws -> KeptStart? {
        try read(await database.query(selection([name])))[name]
    }

    /// The statement whose rows ``read(_:)`` reads.
    package static func selection(_ names: [ActivityFacts.Name]) -> Query {
        """
        SELECT a.bundle_id, a.activity_id, a.activity_key, a.state::text, a.start_body::text
        FROM unnest(\(names.map(\.app.rawValue)), \(names.map(\.id.rawValue))) AS n(bundle_id, activity_id)
        CROSS JOIN LATERAL (
            SELECT * FROM activities WHERE bundle_id = n.bundle_id AND activity_id = n.activity_id OFFSET 0
        ) AS a
        """
    }

    /// Those whose ids are taken.
    package static func read(_ rows: Rows) throws -> [ActivityFacts.Name: KeptStart] {
        var starts: [ActivityFacts.Name: KeptStart] = [:]
        for row in rows {
            let name = ActivityFacts.Name(
                app: BundleID(stored: try row["bundle_id"]),
                id: ActivityID(stored: try row["activity_id"])
            )
            starts[name] = try KeptStart(row)
        }
        return starts
    }

    private init(_ row: Row) throws {
        activityKey = try row["activity_key"]
        state = try .stored(row["state"])
        record = StartRecord(body: try JSONValue(parsing: row["start_body"]).object ?? JSONObject())
    }
}
