package import Postgres

extension ActivityRows {
    /// The statement that replaces the stored starts of locked activities. It takes one body, as a text of JSON, for
    /// each key.
    package static func replaceStarts(with bodies: [String], of activityKeys: [Int64]) -> Query {
        """
        UPDATE activities AS a SET start_body = u.body::json
        FROM unnest(\(activityKeys), \(bodies)) AS u(activity_key, body) WHERE a.activity_key = u.activity_key
        """
    }
}
