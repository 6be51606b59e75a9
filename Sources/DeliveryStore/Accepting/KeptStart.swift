package import ActivityModel
import JSON
package import Postgres
import Store

/// The start of an activity as it is kept, by which a start of the same id is judged.
package struct KeptStart {
    package let app: BundleID
    package let id: ActivityID
    package let activityKey: Int64
    /// The state of the activity.
    package let state: ActivityState
    package let record: StartRecord

    /// The statement whose rows these are; an id that is free has none.
    package static func selection(_ names: [(app: BundleID, id: ActivityID)]) -> Query {
        """
        SELECT a.bundle_id, a.activity_id, a.activity_key, a.state::text, a.start_body::text
        FROM unnest(\(names.map(\.app.rawValue)), \(names.map(\.id.rawValue))) AS n(bundle_id, activity_id)
        CROSS JOIN LATERAL (
            SELECT * FROM activities WHERE bundle_id = n.bundle_id AND activity_id = n.activity_id OFFSET 0
        ) AS a
        """
    }

    /// Reads a row of ``selection(_:)``.
    package init(_ row: Row) throws {
        app = BundleID(stored: try row["bundle_id"])
        id = ActivityID(stored: try row["activity_id"])
        activityKey = try row["activity_key"]
        state = try .stored(row["state"])
        record = StartRecord(body: try JSONValue(parsing: row["start_body"]).object ?? JSONObject())
    }
}
