import APITypes
import ActivityModel
import JSON
import Postgres

/// Forgets an app with all that belongs to it: what may be a million rows in short transactions, the app itself last.
///
/// The first transaction decides, and takes the signing keys: from then on nothing is started. A deletion that was cut off is
/// gone on with when it is asked for again.
struct AppDeletion {
    let database: Database
    let app: BundleID

    /// Devices deleted in one transaction, with their tokens, starts and cards.
    private static let devicesAtOnce = 1_000

    /// - Throws: 404; 409 `app_in_use`, and nothing has changed.
    func run() async throws {
        let before = try await database.withTransaction { connection in
            try await check(on: connection)
            let before = try await Orchestrator.readApps(id: app, connection).first?.json
            // Waits for starts that are just being accepted, which the second look sees.
            _ = try await connection.execute("DELETE FROM signing_keys WHERE bundle_id = \(app.rawValue)")
            try await check(on: connection)
            return before
        }
        for part in [devices, pushes] {
            while try await database.execute(part) > 0 {}
        }
        while try await deleteActivities() {}
        try await database.withTransaction { connection in
            try await check(on: connection)
            _ = try await connection.execute("DELETE FROM apps WHERE bundle_id = \(app.rawValue)")
            try await AuditRows.record(.appDeleted, of: app, app.rawValue, before: before, on: connection)
        }
    }

    /// Locks the app against all that is made for it.
    private func check(on connection: PostgresConnection) async throws {
        let found = try await connection.query(
            """
            SELECT EXISTS (SELECT 1 FROM activities AS a WHERE a.bundle_id = p.bundle_id AND a.state <> 'ended'),
                   EXISTS (SELECT 1 FROM channels AS c
                           WHERE c.bundle_id = p.bundle_id AND c.state NOT IN ('deleted', 'lost'))
            FROM apps AS p WHERE p.bundle_id = \(app.rawValue) FOR UPDATE
            """
        )
        guard let (activities, channels) = try found.first(as: (Bool, Bool).self) else {
            throw Problem.notFound("the app")
        }
        if activities {
            throw Problem.conflict(code: "app_in_use", detail: "Activities of this app have not ended.")
        }
        if channels {
            throw Problem.conflict(code: "app_in_use", detail: "Channels of this app still exist at Apple.")
        }
    }

    // MARK: In parts

    private var devices: Query {
        """
        DELETE FROM devices WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM devices WHERE bundle_id = \(app.rawValue) LIMIT \(Self.devicesAtOnce) FOR UPDATE
        ))
        """
    }

    /// Those to tokens that the caller named.
    private var pushes: Query {
        """
        DELETE FROM pushes WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM pushes WHERE bundle_id = \(app.rawValue) LIMIT \(Self.devicesAtOnce) FOR UPDATE
        ))
        """
    }

    /// - Returns: Whether there may be more.
    private func deleteActivities() async throws -> Bool {
        try await database.withTransaction { connection in
            let rows = try await connection.query(
                """
                SELECT activity_key FROM activities WHERE bundle_id = \(app.rawValue) AND state = 'ended'
                ORDER BY activity_key LIMIT \(ActivityDeletion.batchSize) FOR UPDATE
                """
            )
            let keys = try rows.decoded(as: Int64.self)
            guard !keys.isEmpty else { return false }
            let parts = try await connection.pipeline(ActivityDeletion.partDeletions(of: keys))
            // Of some there are more rows than go at once.
            if parts.contains(where: { $0.affectedRows == ActivityDeletion.rowLimit }) { return true }
            _ = try await connection.pipeline([
                "DELETE FROM channels WHERE activity_key = ANY(\(keys))",
                "DELETE FROM activities WHERE activity_key = ANY(\(keys))",
            ])
            return true
        }
    }
}
