package import Postgres

extension Database {
    /// A transaction that may lock rows in another order than others do. If it is chosen to end a deadlock the others
    /// have the right of way, and it is run again when they have had time to go on.
    package func withYieldingTransaction<R>(_ body: (PostgresConnection) async throws -> R) async throws -> R {
        for pause in Self.pauses {
            do {
                return try await withTransaction { try await body($0) }
            } catch let error as PostgresError where error.sqlState == "40P01" {
                try await Task.sleep(for: pause)
            }
        }
        return try await withTransaction { try await body($0) }
    }

    private static var pauses: [Duration] { [.milliseconds(50), .milliseconds(500)] }
}
