package import APITypes
package import ActivityModel
import Cryptography
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Makes an app or changes it.
    ///
    /// Fields that the request leaves out keep their stored values, also the keys of other environments.
    ///
    /// - Throws: 422 for a private key that is not P-256, for an environment or a new key id without any, and for an app
    ///   without an environment.
    package func putApp(_ id: BundleID, _ request: AppRequest) async throws -> AppResource {
        let change = AppPatch(
            teamID: request.teamID,
            channelsExclusive: request.channelsExclusive,
            channelPool: request.channelPool,
            environments: request.environments.mapValues { SigningKeyPatch(keyID: $0.keyID, privateKey: $0.privateKey) }
        )
        return try await changeApp(id, change) { exclusive, pool in
            """
            INSERT INTO apps (bundle_id, team_id, channels_exclusive, channel_pool, created_at, updated_at)
            VALUES (\(id.rawValue), \(request.teamID.rawValue), COALESCE(\(exclusive)::boolean, false),
                    COALESCE(\(pool)::integer, 0), clock_timestamp(), clock_timestamp())
            ON CONFLICT (bundle_id) DO UPDATE
            SET team_id = EXCLUDED.team_id,
                channels_exclusive = COALESCE(\(exclusive), apps.channels_exclusive),
                channel_pool = COALESCE(\(pool), apps.channel_pool), updated_at = now()
            """
        }
    }

    /// Changes the settings of an app that a merge patch names.
    ///
    /// - Throws: 404; 422 as ``putApp(_:_:)``.
    package func patchApp(_ id: BundleID, _ patch: AppPatch) async throws -> AppResource {
        try await changeApp(id, patch) { exclusive, pool in
            """
            UPDATE apps SET team_id = COALESCE(\(patch.teamID?.rawValue), team_id),
                channels_exclusive = COALESCE(\(exclusive), channels_exclusive),
                channel_pool = COALESCE(\(pool), channel_pool), updated_at = now()
            WHERE bundle_id = \(id.rawValue)
            """
        }
    }

    /// Changes an app and its signing keys. `statement` writes the row of the app, by its `channels_exclusive` and
    /// `channel_pool`.
    private func changeApp(
        _ id: BundleID,
        _ change: AppPatch,
        by statement: @Sendable (Bool?, Int32?) -> Query
    ) async throws -> AppResource {
        let sealed = try sealedKeys(id, change)
        return try await database.withTransaction { connection in
            // Waits for a deletion of the app that is just ending. So a new app is younger than all that is kept of a
            // former one (`KeptAnswers`).
            _ = try await connection.query("SELECT 1 FROM apps WHERE bundle_id = \(id.rawValue) FOR NO KEY UPDATE")
            let before = try await Self.readApps(id: id, connection).first
            let count = try await connection.execute(
                statement(change.channelsExclusive, change.channelPool.map(Int32.init))
            )
            guard count > 0 else { throw Problem.notFound("the app") }
            for (environment, key) in change.environments {
                try await Self.store(key, sealed[environment], id, environment, connection)
            }
            guard let app = try await Self.readApps(id: id, connection).first else {
                throw Problem.notFound("the app")
            }
            if app.environments.isEmpty {
                let message = "an app needs at least one environment with its key"
                throw Problem.invalidRequest(at: ["environments"], code: FieldError.missing, message)
            }
            try await AuditRows.record(
                .appChanged,
                of: id,
                id.rawValue,
                before: before?.json,
                after: app.json(replacingKeysOf: Array(sealed.keys)),
                on: connection
            )
            return app
        }
    }

    /// One app.
    ///
    /// - Throws: 404.
    package func app(_ id: BundleID) async throws -> AppResource {
        let apps = try await database.withConnection { try await Self.readApps(id: id, $0) }
        guard let app = apps.first else { throw Problem.notFound("the app") }
        return app
    }

    /// Apps in the order of their ids; with `only`, that one alone.
    package func apps(_ page: PageRequest, only: BundleID?) async throws -> Page<AppResource> {
        let after = try page.position(in: .apps, BundleID.self)
        let apps = try await database.withConnection { connection in
            try await Self.readApps(id: only, after: after?.rawValue, limit: page.limit + 1, connection)
        }
        return .cut(apps, of: .apps, limit: page.limit) { [$0.bundleID.rawValue] }
    }

    /// Forgets an app with its types, devices and API keys. `activities` forgets its activities.
    ///
    /// An app with a million devices takes minutes. If a request was interrupted, repeat it: the next one resumes
    /// there.
    ///
    /// - Throws: 404; 409 `app_in_use` while activities run or channels exist at Apple, which nobody would delete any
    ///   more.
    package func deleteApp(_ id: BundleID, activities: any ActivityKeeper) async throws {
        try await AppDeletion(database: database, app: id, keeper: activities).run()
        caches.principals.removeAll()
        caches.ticketKeys.removeAll()
        caches.types.removeAll()
    }

    // MARK: Signing keys

    /// The new keys of a request, checked and sealed, before the database is touched.
    private func sealedKeys(_ id: BundleID, _ request: AppPatch) throws -> [APNSEnvironment: [UInt8]] {
        var sealed: [APNSEnvironment: [UInt8]] = [:]
        var errors: [FieldError] = []
        for (environment, key) in request.environments {
            guard let pem = key.privateKey else { continue }
            do {
                _ = try P256PrivateKey(pem: pem)
            } catch {
                let pointer = JSONPointer(tokens: ["environments", environment.rawValue, "private_key"])
                let message = "not the .p8 file of an APNs key: \(error.message)"
                errors.append(FieldError(pointer: pointer, code: FieldError.invalidValue, message: message))
                continue
            }
            sealed[environment] = try SecretSeal.signingKey(id, environment).seal(Array(pem.utf8), under: masterKeys)
        }
        if !errors.isEmpty { throw Problem.invalidRequest(errors) }
        return sealed
    }

    /// A new key id goes with its private key: under the stored one Apple would refuse every push.
    private static func store(
        _ key: SigningKeyPatch,
        _ sealed: [UInt8]?,
        _ id: BundleID,
        _ environment: APNSEnvironment,
        _ connection: PostgresConnection
    ) async throws {
        if let sealed, let keyID = key.keyID {
            _ = try await connection.execute(
                """
                INSERT INTO signing_keys (bundle_id, environment, key_id, private_key_sealed)
                VALUES (\(id.rawValue), \(environment.rawValue)::apns_environment, \(keyID.rawValue), \(sealed))
                ON CONFLICT (bundle_id, environment) DO UPDATE
                SET key_id = EXCLUDED.key_id, private_key_sealed = EXCLUDED.private_key_sealed, updated_at = now()
                """
            )
            return
        }
        let kept = try await connection.execute(
            """
            UPDATE signing_keys SET private_key_sealed = COALESCE(\(sealed), private_key_sealed), updated_at = now()
            WHERE bundle_id = \(id.rawValue) AND environment = \(environment.rawValue)::apns_environment
              AND key_id = COALESCE(\(key.keyID?.rawValue), key_id)
            """
        )
        if kept == 0 {
            let names = ["environments", environment.rawValue, sealed == nil ? "private_key" : "key_id"]
            let message =
                key.keyID.map { "no private key is stored for the key id \($0)" }
                ?? "no key is stored for this environment yet"
            throw Problem.invalidRequest(at: names, code: FieldError.missing, message)
        }
    }

    // MARK: Reading

    static func readApps(
        id: BundleID?,
        after: String? = nil,
        limit: Int = 1,
        _ connection: PostgresConnection
    ) async throws -> [AppResource] {
        let rows = try await connection.query(
            """
            SELECT p.bundle_id, p.team_id, p.channels_exclusive, p.channel_pool,
                   production.key_id AS production, sandbox.key_id AS sandbox,
                   p.created_at, p.updated_at
            FROM apps AS p
            LEFT JOIN signing_keys AS production
                ON production.bundle_id = p.bundle_id AND production.environment = 'production'
            LEFT JOIN signing_keys AS sandbox ON sandbox.bundle_id = p.bundle_id AND sandbox.environment = 'sandbox'
            WHERE (\(id?.rawValue)::text IS NULL OR p.bundle_id = \(id?.rawValue))
              AND (\(after)::text IS NULL OR p.bundle_id > \(after))
            ORDER BY p.bundle_id LIMIT \(limit)
            """
        )
        return try rows.map { row in
            let production: String? = try row["production"]
            let sandbox: String? = try row["sandbox"]
            var environments: [APNSEnvironment: SigningKeyResource] = [:]
            environments[.production] = production.map { SigningKeyResource(keyID: KeyID(stored: $0)) }
            environments[.sandbox] = sandbox.map { SigningKeyResource(keyID: KeyID(stored: $0)) }
            return AppResource(
                bundleID: BundleID(stored: try row["bundle_id"]),
                teamID: TeamID(stored: try row["team_id"]),
                channelsExclusive: try row["channels_exclusive"],
                channelPool: try row["channel_pool"],
                environments: environments,
                createdAt: try row["created_at"],
                updatedAt: try row["updated_at"]
            )
        }
    }
}

extension AppResource {
    /// As the audit log shows it. A mark says that the private key itself was replaced.
    fileprivate func json(replacingKeysOf replaced: [APNSEnvironment]) -> JSONValue {
        guard var app = json.object, var environments = app["environments"]?.object else { return json }
        for environment in replaced {
            guard var key = environments[environment.rawValue]?.object else { continue }
            key["private_key"] = "replaced"
            environments[environment.rawValue] = .object(key)
        }
        app["environments"] = .object(environments)
        return .object(app)
    }
}
