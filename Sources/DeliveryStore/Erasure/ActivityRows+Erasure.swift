package import Postgres

extension ActivityRows {
    /// The statement that stores other starts, as texts of JSON, of activities that are locked. One body for each key.
    package static func keepingStarts(_ bodies: [String], of activityKeys: [Int64]) -> Query {
        """
        UPDATE activities AS a SET start_body = u.body::json
        FROM unnest(\(activityKeys), \(bodies)) AS u(activity_key, body) WHERE a.activity_key = u.activity_key
        """
    }
}
