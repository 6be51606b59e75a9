import Postgres
import TestSupport
import Testing

extension World {
    /// Returns when a session of this world's database, or so many, waits for a lock: of a kind (`relation`,
    /// `transactionid`, `advisory` and so on) if one is named. Or when `isNeedless` says that nobody will.
    ///
    /// - Throws: ``Failure`` after a minute.
    package func someoneWaits(
        for kind: String? = nil,
        atLeast count: Int64 = 1,
        unless isNeedless: () async throws -> Bool = { false }
    ) async throws {
        let waiting: Query = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND wait_event_type = 'Lock' AND wait_event = coalesce(\(kind), wait_event)
            """
        try await eventually("\(count) sessions wait for a lock", every: .milliseconds(2)) {
            if try await number(waiting) ?? 0 >= count { return true }
            return try await isNeedless()
        }
    }

    /// Lets the workers wait for a stamp behind a change of the only activity that is just being accepted, and settles.
    package func settle(behind change: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM activities FOR UPDATE")
                group.addTask { try await change() }
                try await someoneWaits()
                group.addTask { try await settle() }
                try await someoneWaits(atLeast: 2)
            }
            try await group.waitForAll()
        }
        try await settle()
    }
}
