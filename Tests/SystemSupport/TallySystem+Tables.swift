package import ActivityModel
import Postgres
import TestSupport

extension TallySystem {
    /// Waits until every start has come to an end: none waits, none is claimed and without an answer.
    package func settleStarts() async throws {
        try await eventually("every start has come to an end") {
            try await database.query(
                "SELECT count(*) FROM starts WHERE state IN ('pending', 'claimed', 'unknown') AND due_at IS NOT NULL"
            ).first(as: Int64.self) == 0
        }
    }

    /// Waits until so many starts of an activity have come to an end, also while the database is away. One that Apple
    /// refused has not: an operator may have it tried again.
    package func settleStarts(of activity: ActivityID, count: Int, within limit: Duration) async throws {
        try await eventually("every start of \(activity) has come to an end", within: limit) {
            let rows = try? await database.query(
                """
                SELECT count(*) FROM starts AS s JOIN activities AS a USING (activity_key)
                WHERE a.activity_id = \(activity.rawValue)
                  AND s.state <> 'failed' AND NOT (s.state IN ('pending', 'claimed', 'unknown') AND s.due_at IS NOT NULL)
                """
            )
            // A database that is away says nothing, and is asked again.
            return try rows?.first(as: Int64.self) == Int64(count)
        }
    }

    /// The devices whose start was claimed more than once for a push that may have left.
    package func repeatedStarts(of activity: ActivityID) async throws -> Set<String> {
        let rows = try await database.query(
            """
            SELECT d.device_id FROM starts AS s JOIN devices AS d USING (device_key) JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(activity.rawValue) AND s.attempts > 1
            """
        )
        return Set(try rows.decoded(as: String.self))
    }

    /// What the tables say of an activity and some devices: for the message of a failure.
    package func tables(of activity: ActivityID, devices: [String]) async throws -> String {
        var text = ""
        for (title, query) in [
            (
                "activities",
                "SELECT row_to_json(a)::text FROM activities AS a WHERE activity_id = \(activity.rawValue)" as Query
            ),
            (
                "segments",
                """
                SELECT row_to_json(s)::text FROM segments AS s JOIN activities AS a USING (activity_key)
                WHERE a.activity_id = \(activity.rawValue)
                """
            ),
            (
                "changes",
                """
                SELECT json_build_array(c.revision, c.kind, c.timestamp, c.accepted_at, c.stamped_at, c.merged_into)::text
                FROM changes AS c JOIN activities AS a USING (activity_key)
                WHERE a.activity_id = \(activity.rawValue) ORDER BY c.revision DESC LIMIT 6
                """
            ),
            (
                "starts",
                """
                SELECT json_build_array(d.device_id, row_to_json(s))::text
                FROM starts AS s JOIN activities AS a USING (activity_key) JOIN devices AS d USING (device_key)
                WHERE a.activity_id = \(activity.rawValue) AND d.device_id = ANY(\(devices))
                """
            ),
            (
                "subscriptions",
                """
                SELECT json_build_array(d.device_id, row_to_json(s))::text
                FROM subscriptions AS s JOIN activities AS a USING (activity_key) JOIN devices AS d USING (device_key)
                WHERE a.activity_id = \(activity.rawValue) AND d.device_id = ANY(\(devices))
                """
            ),
        ] {
            text += "--- \(title)\n"
            text += try await database.query(query).decoded(as: String.self).joined(separator: "\n") + "\n"
        }
        return text
    }
}
