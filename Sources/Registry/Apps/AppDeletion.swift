import APITypes
import ActivityModel
import JSON
import Postgres
import ReportTypes
import Store

/// Deletes an app with everything that belongs to it, up to millions of rows, in short transactions. The app itself
/// goes last.
///
/// The first transaction decides, takes the signing keys, and records the deletion: from then on nothing is started. If
/// a deletion was interrupted, the next request resumes it.
struct AppDeletion {
    let database: Database
    let app: BundleID
    let keeper: any ActivityKeeper

    /// Devices deleted in one transaction, with their tokens, starts and cards; and so many pushes and follows.
    private static let rowsAtOnce = 1_000

    /// - Throws: 404; 409 `app_in_use`, and nothing has changed, unless the app was given keys again while it was being
    ///   deleted.
    func run() async throws {
        try await database.withTransaction { try await begin(on: $0) }
        // The pushes are those to tokens that the caller named, the topics those of users: others go with the devices.
        for part in [deviceDeletion, keeper.pushDeletion(of: app, limit: Self.rowsAtOnce), followDeletion] {
            // Rows that others hold and new rows go with the app. A part lacks those that others change while they are
            // being locked.
            while try await database.withYieldingTransaction({ try await $0.execute(part) }) > Self.rowsAtOnce / 2 {}
        }
        try await keeper.deleteActivities(of: app)
        try await database.withYieldingTransaction { connection in
            try await check(on: connection)
            _ = try await connection.execute("DELETE FROM apps WHERE bundle_id = \(app.rawValue)")
        }
    }

    private func begin(on connection: PostgresConnection) async throws {
        try await check(on: connection)
        let before = try await Registry.readApps(id: app, connection).first?.json
        // Waits for starts that are just being accepted, which the second look sees.
        _ = try await connection.execute("DELETE FROM signing_keys WHERE bundle_id = \(app.rawValue)")
        try await check(on: connection)
        try await AuditRows.record(.appDeleted, of: app, app.rawValue, before: before, on: connection)
    }

    /// Locks the app against all that is made for it.
    private func check(on connection: PostgresConnection) async throws {
        let found = try await connection.query(
            """
            SELECT EXISTS (SELECT 1 FROM activities AS a WHERE a.bundle_id = p.bundle_id AND a.state <> 'ended'),
                   EXISTS (SELECT 1 FROM channels AS c
                           WHERE c.bundle_id = p.bundle_id AND NOT \(unescaped: ChannelStanding.isGone("c")))
            FROM apps AS p WHERE p.bundle_id = \(app.rawValue) FOR UPDATE
            """
        )
        guard let (activities, channels) = try found.first(as: (Bool, Bool).self) else {
            throw Problem.notFound("the app")
        }
        if activities {
            throw Problem.appInUse("Activities of this app have not ended.")
        }
        if channels {
            throw Problem.appInUse("Channels of this app still exist at Apple.")
        }
    }

    private var deviceDeletion: Query {
        """
        DELETE FROM devices WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM devices WHERE bundle_id = \(app.rawValue)
            LIMIT \(Self.rowsAtOnce) FOR UPDATE SKIP LOCKED
        ))
        """
    }

    private var followDeletion: Query {
        """
        DELETE FROM topic_follows WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM topic_follows WHERE bundle_id = \(app.rawValue)
            LIMIT \(Self.rowsAtOnce) FOR UPDATE SKIP LOCKED
        ))
        """
    }
}
