package import ActivityModel
package import Postgres

/// Erases what the timeline and the events tell of devices that are deleted.
///
/// Other daemons may be about to write more of them. So writers of the timeline look which devices are there while they
/// hold a lock in common, and who deletes a device holds it alone: what was written before is deleted, and nothing is
/// written after. Who writes an event of a device holds a row of that device's, which goes with it: the deletion waits
/// for the one that was faster, and then sees its event.
package enum TimelineErasure {
    /// The statement that keeps writers and deletions apart until the transaction is over. To be run before devices are
    /// deleted, or looked up to be written of.
    package static func exclusion(isForWriter: Bool) -> Query {
        let function = isForWriter ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock"
        return Query(unescaped: "SELECT \(function)(hashtextextended('tally/timeline', 0))")
    }

    /// Deletes devices of an app by a statement that returns their keys and ids, with their rows. In one transaction.
    ///
    /// - Returns: How many devices there were.
    package static func delete(
        _ devices: Query,
        of app: BundleID,
        on connection: PostgresConnection
    ) async throws -> Int {
        _ = try await connection.query(exclusion(isForWriter: false))
        let deleted = try await connection.query(devices).decoded(as: (Int64, String).self)
        guard !deleted.isEmpty else { return 0 }
        _ = try await connection.pipeline([
            "DELETE FROM timeline WHERE device_key = ANY(\(deleted.map(\.0)))",
            "DELETE FROM events WHERE bundle_id = \(app.rawValue) AND device_id = ANY(\(deleted.map(\.1)))",
        ])
        return deleted.count
    }
}
