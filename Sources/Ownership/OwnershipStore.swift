import Postgres
import Store

/// The statements about `daemons` and `partitions`.
struct OwnershipStore: Sendable {
    /// The channel of LISTEN and NOTIFY on which a daemon says that partitions are free.
    static let channel = "partitions_freed"

    let database: Database

    /// Enters a daemon under a new number, with settings by name. No number is used twice.
    func enter(with settings: [String: String]) async throws -> Int64 {
        let sorted = settings.sorted { $0.key < $1.key }
        let rows = try await database.query(
            """
            INSERT INTO daemons (settings) VALUES (jsonb_object(\(sorted.map(\.key)), \(sorted.map(\.value))))
            RETURNING daemon
            """
        )
        return try rows.single(Int64.self) ?? 0
    }

    /// Counts a renewal and reads the tables; `nil` if another daemon has deleted this one.
    func renew(_ daemon: Int64) async throws -> Ownership.Look? {
        let results = try await database.pipeline([
            "UPDATE daemons SET renewal = renewal + 1 WHERE daemon = \(daemon)",
            "SELECT daemon, renewal FROM daemons",
            "SELECT partition, owner, epoch FROM partitions ORDER BY partition",
        ])
        guard results[0].affectedRows == 1 else { return nil }
        return Ownership.Look(
            renewals: Dictionary(
                uniqueKeysWithValues: try results[1].decoded(as: (Int64, Int64).self).map { ($0, $1) }
            ),
            rows: try results[2].decoded(as: (Int16, Int64?, Int64).self).map {
                Ownership.Row(partition: $0, owner: $1, epoch: $2)
            }
        )
    }

    /// Deletes daemons that have not renewed since. The deletion waits for a renewal under way, and then spares it.
    func bury(_ renewals: [Int64: Int64]) async throws {
        let sorted = renewals.sorted { $0.key < $1.key }
        _ = try await database.execute(
            """
            DELETE FROM daemons AS d USING unnest(\(sorted.map(\.key)), \(sorted.map(\.value))) AS u(daemon, renewal)
            WHERE d.daemon = u.daemon AND d.renewal = u.renewal
            """
        )
    }

    /// Takes partitions whose epoch is still the one that was seen. It waits for write transactions of the owner before.
    ///
    /// - Returns: The new epochs of those that it got.
    func claim(_ epochs: [Int16: Int64], for daemon: Int64) async throws -> [Int16: Int64] {
        let sorted = epochs.sorted { $0.key < $1.key }
        let rows = try await database.query(
            """
            INSERT INTO partitions AS p (partition, owner, epoch)
            SELECT u.partition, \(daemon), u.epoch + 1
            FROM unnest(\(sorted.map(\.key)), \(sorted.map(\.value))) AS u(partition, epoch)
            ON CONFLICT (partition) DO UPDATE SET owner = EXCLUDED.owner, epoch = EXCLUDED.epoch
                WHERE p.epoch = EXCLUDED.epoch - 1
            RETURNING p.partition, p.epoch
            """
        )
        return Dictionary(uniqueKeysWithValues: try rows.decoded(as: (Int16, Int64).self).map { ($0, $1) })
    }

    /// Frees partitions, and tells the others.
    func release(_ partitions: [Int16], of daemon: Int64) async throws {
        _ = try await database.pipeline([
            "UPDATE partitions SET owner = NULL WHERE owner = \(daemon) AND partition = ANY(\(partitions))", Self.tell,
        ])
    }

    /// Ends the daemon's life, frees what it owns, and tells the others.
    func leave(_ daemon: Int64) async throws {
        _ = try await database.pipeline([
            "UPDATE partitions SET owner = NULL WHERE owner = \(daemon)",
            "DELETE FROM daemons WHERE daemon = \(daemon)", Self.tell,
        ])
    }

    private static let tell: Query = "SELECT pg_notify(\(channel), '')"
}
