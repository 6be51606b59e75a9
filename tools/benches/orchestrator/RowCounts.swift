import Postgres

/// How often the rows of the database were written, as the server counts it.
struct RowCounts: Sendable {
    let database: Database

    /// Rows inserted, updated and deleted so far, by table. Waits for the end of all other sessions: the last of what
    /// they have written they tell then.
    func read() async throws -> [String: Int64] {
        while try await sessions() > 0 { try await Task.sleep(for: .milliseconds(10)) }
        let rows = try await database.query(
            "SELECT relname::text, n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables"
        )
        var counts: [String: Int64] = [:]
        for (table, count) in try rows.decoded(as: (String, Int64).self) { counts[table] = count }
        return counts
    }

    private func sessions() async throws -> Int64 {
        let rows = try await database.query(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            """
        )
        return try rows.first(as: Int64.self) ?? 0
    }
}
