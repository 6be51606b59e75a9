package import Postgres

extension StartRows {
    /// The part of a statement that selects the starts by push that have left for a phone within a time until now: `at`
    /// and `count` of each. A card that a new one continued has a row for each of the two starts.
    package static func spent(by deviceKey: String, within time: Duration) -> Query {
        """
        SELECT o.claimed_at AS at, o.attempts AS count FROM starts AS o
        WHERE o.device_key = \(unescaped: deviceKey) AND o.claimed_at > now() - \(time) AND o.attempts > 0
        UNION ALL
        SELECT k.started_at, k.attempts FROM continuations AS k
        WHERE k.device_key = \(unescaped: deviceKey) AND k.started_at > now() - \(time) AND k.attempts > 0
        """
    }
}
