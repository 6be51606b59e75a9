import Postgres

/// Erases what the timeline tells of devices that are deleted.
///
/// Other daemons may be about to write more of them. So writers look which devices are there while they hold a lock in
/// common, and who deletes a device holds it alone: what was written before is deleted, and nothing is written after.
enum TimelineErasure {
    /// The statement that keeps writers and deletions apart until the transaction is over. To be run before devices are
    /// deleted, or looked up to be written of.
    static func exclusion(isForWriter: Bool) -> Query {
        let function = isForWriter ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock"
        return Query(unescaped: "SELECT \(function)(hashtextextended('tally/timeline', 0))")
    }

    /// Deletes devices by a statement that returns their keys, with their rows. In one transaction.
    ///
    /// - Returns: How many devices there were.
    static func delete(_ devices: Query, on connection: PostgresConnection) async throws -> Int {
        _ = try await connection.query(exclusion(isForWriter: false))
        let keys = try await connection.query(devices).decoded(as: Int64.self)
        _ = try await connection.execute("DELETE FROM timeline WHERE device_key = ANY(\(keys))")
        return keys.count
    }
}
