package import Postgres

// Pushes that were answered. ``QueuedPush`` claims and frees them.
extension PushRows {
    /// The statement by which settled pushes leave the table.
    package static func deletion(of keys: [Int64]) -> Query {
        "DELETE FROM pushes WHERE push_key = ANY(\(keys))"
    }

    /// The statement that has pushes tried again, each after its delay, and at their deadlines at the latest.
    package static func again(_ keys: [Int64], after delays: [Duration]) -> Query {
        """
        UPDATE pushes AS p
        SET due_at = least(p.deadline, clock_timestamp() + r.delay), failures = least(p.failures + 1, 1000)
        FROM unnest(\(keys), \(delays)) AS r(push_key, delay)
        WHERE p.push_key = r.push_key
        """
    }
}
