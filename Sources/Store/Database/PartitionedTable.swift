import Postgres

/// A table with one partition per day (UTC) and a default one, whose old rows go by dropping their partition.
struct PartitionedTable: Sendable {
    /// Its name; that of a partition ends in `_YYYYMMDD`.
    let name: String
    /// How long rows are kept at least; a day's partition goes when its youngest row is that old.
    let retention: Duration

    /// How many days ahead partitions are made, so that a daemon may rest that long.
    private static let daysAhead = 3

    /// A day is meant as 24 hours: with `1 day` the length would depend on the session's time zone.
    private static let day = "interval '24 hours'"

    /// A partition that is missing, with its bounds as SQL literals.
    private struct Missing {
        let partition: String
        let from: String
        let to: String
    }

    /// Makes partitions for today and the days ahead, and drops those that are too old. Does nothing while another
    /// daemon is about it. To be run in a transaction.
    ///
    /// - Throws: A lock timeout (55P03) if readers are in the way; the next time will do.
    func tend(on connection: PostgresConnection) async throws {
        let locked = try await connection.query(
            "SELECT pg_try_advisory_xact_lock(hashtextextended('tally/partitions/' || \(name), 0))"
        )
        guard try locked.single(Bool.self) == true else { return }
        // Whoever writes waits behind this, so it gives up at once. It has days for another try.
        _ = try await connection.execute("SET LOCAL lock_timeout = '100ms'")
        for missing in try await missing(on: connection) {
            try await make(missing, on: connection)
        }
        for partition in try await expired(on: connection) {
            _ = try await connection.execute("DROP TABLE \(identifier: partition)")
        }
        _ = try await connection.execute(
            "DELETE FROM \(identifier: name + "_default") WHERE at < clock_timestamp() - \(retention)"
        )
    }

    private func missing(on connection: PostgresConnection) async throws -> [Missing] {
        let rows = try await connection.query(
            """
            SELECT p.name, quote_literal(p.day), quote_literal(p.day + \(unescaped: Self.day))
            FROM (
                SELECT day, \(name) || to_char(day AT TIME ZONE 'UTC', '"_"YYYYMMDD') AS name
                FROM generate_series(0, \(Int32(Self.daysAhead))) AS ahead
                CROSS JOIN LATERAL (
                    SELECT date_trunc('day', clock_timestamp(), 'UTC') + ahead * \(unescaped: Self.day) AS day
                ) AS days
            ) AS p
            WHERE to_regclass(p.name) IS NULL
            ORDER BY p.day
            """
        )
        return try rows.decoded(as: (String, String, String).self).map(Missing.init)
    }

    /// Rows that came to the default partition before this one was there are moved into it.
    ///
    /// Whoever inserts meanwhile waits before a partition is chosen. If only the default partition were locked, a row
    /// that waits for it would be refused afterwards with 23514, because its day belongs to the new partition.
    private func make(_ missing: Missing, on connection: PostgresConnection) async throws {
        let overflow = name + "_default"
        _ = try await connection.execute(
            "LOCK TABLE ONLY \(identifier: name), \(identifier: overflow) IN ACCESS EXCLUSIVE MODE"
        )
        _ = try await connection.execute(
            "CREATE TABLE \(identifier: missing.partition) (LIKE \(identifier: name) INCLUDING ALL)"
        )
        _ = try await connection.execute(
            """
            WITH moved AS (
                DELETE FROM \(identifier: overflow)
                WHERE at >= \(unescaped: missing.from) AND at < \(unescaped: missing.to)
                RETURNING *
            )
            INSERT INTO \(identifier: missing.partition) SELECT * FROM moved
            """
        )
        _ = try await connection.execute(
            """
            ALTER TABLE \(identifier: name) ATTACH PARTITION \(identifier: missing.partition)
            FOR VALUES FROM (\(unescaped: missing.from)) TO (\(unescaped: missing.to))
            """
        )
    }

    /// The day of a partition stands in its name.
    private func expired(on connection: PostgresConnection) async throws -> [String] {
        let rows = try await connection.query(
            """
            SELECT c.relname::text
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
            CROSS JOIN LATERAL (SELECT substring(c.relname FROM '_([0-9]{8})$') AS day) AS part
            WHERE i.inhparent = \(name)::regclass AND part.day IS NOT NULL
              AND to_date(part.day, 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC' + \(unescaped: Self.day)
                  <= clock_timestamp() - \(retention)
            ORDER BY c.relname
            """
        )
        return try rows.decoded(as: String.self)
    }
}
