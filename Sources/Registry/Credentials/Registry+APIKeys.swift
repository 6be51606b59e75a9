package import APITypes
package import ActivityModel
import Cryptography
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Makes a key; the answer alone holds its secret.
    ///
    /// - Throws: 422 if it is to be bound to an app that does not exist, or would be over already.
    package func createAPIKey(_ request: APIKeyRequest) async throws -> APIKeyResource {
        let secret = "tally_" + Base64URL.encode(SecureRandom.bytes(32))
        let key = try await database.withTransaction { connection in
            try await Store.checkExpiry(request.expiresAt, on: connection)
            if let app = request.bundleID {
                // Waits for a deletion of the app, as ``Store/holdApp(_:_:)`` does.
                let rows = try await connection.query(
                    "SELECT 1 FROM apps WHERE bundle_id = \(app.rawValue) FOR KEY SHARE"
                )
                if rows.isEmpty {
                    throw Problem.invalidRequest(at: ["bundle_id"], "This app does not exist.")
                }
            }
            let rows = try await connection.query(
                """
                INSERT INTO api_keys (name, secret_sha256, scopes, bundle_id, expires_at)
                VALUES (\(request.name), \(SHA256.hash(secret)), \(request.scopes.map(\.rawValue)), \(request.bundleID?.rawValue),
                        \(request.expiresAt?.stored))
                RETURNING \(unescaped: Self.apiKeyColumns)
                """
            )
            let key = try Self.apiKeys(rows).first
            if let key {
                try await AuditRows.record(.apiKeyCreated, of: key.bundleID, key.id, after: key.json, on: connection)
            }
            return key
        }
        guard var key else { throw Problem.internalError() }
        key.secret = secret
        return key
    }

    /// Keys in the order in which they were made; with `only`, those bound to that app.
    package func apiKeys(_ page: PageRequest, only: BundleID?) async throws -> Page<APIKeyResource> {
        // The id of a key is a UUID like that of a channel.
        let place = try page.position(in: .keys, PGTimestamp.self, ChannelID.self)
        let after = place?.0
        let rows = try await database.query(
            """
            SELECT \(unescaped: Self.apiKeyColumns) FROM api_keys
            WHERE (\(only?.rawValue)::text IS NULL OR bundle_id = \(only?.rawValue))
              AND (\(after)::timestamptz IS NULL OR (created_at, api_key_id) > (\(after), \(place?.1.rawValue)::uuid))
            ORDER BY created_at, api_key_id LIMIT \(page.limit + 1)
            """
        )
        return .cut(try Self.apiKeys(rows), of: .keys, limit: page.limit) {
            [String($0.createdAt.microseconds), $0.id]
        }
    }

    /// Revokes a key for good. It is good for some seconds more on other daemons.
    ///
    /// - Throws: 404, also for a key that `only` does not see. A key that is revoked already stays so.
    package func revokeAPIKey(_ id: String, only: BundleID?) async throws {
        let isFound = try await database.withTransaction { connection in
            let stored = try await connection.query(
                """
                SELECT \(unescaped: Self.apiKeyColumns) FROM api_keys
                WHERE api_key_id = \(id)::uuid AND (\(only?.rawValue)::text IS NULL OR bundle_id = \(only?.rawValue))
                FOR NO KEY UPDATE
                """
            )
            guard let key = try Self.apiKeys(stored).first else { return false }
            guard key.revokedAt == nil else { return true }
            let revoked = try await connection.query(
                """
                UPDATE api_keys SET revoked_at = now() WHERE api_key_id = \(id)::uuid
                RETURNING \(unescaped: Self.apiKeyColumns)
                """
            )
            try await AuditRows.record(
                .apiKeyRevoked,
                of: key.bundleID,
                key.id,
                before: key.json,
                after: try Self.apiKeys(revoked).first?.json,
                on: connection
            )
            return true
        }
        caches.principals.removeAll()
        if !isFound { throw Problem.notFound("the API key") }
    }

    // MARK: Authentication

    /// The owner of this secret; nil if it is unknown, revoked or expired.
    ///
    /// - Throws: 401 with the reason for a ticket that a backend signed and that is not good.
    ///
    /// Keys and signed tickets are believed for three seconds. The database compares hashes, so the time of a look-up
    /// says nothing of the secret.
    package func authenticate(secret: String) async throws -> Principal? {
        let hash = SHA256.hash(secret)
        if let bootstrapHash, ConstantTime.equal(hash, bootstrapHash) {
            return Principal(keyID: Principal.bootstrapKeyID, scopes: [.admin], app: nil)
        }
        if secret.hasPrefix(TicketSeal.prefix) { return try await authenticate(ticket: secret) }
        if case .fresh(let principal) = caches.principals.lookUp(hash) { return principal }
        let generation = caches.principals.generation
        if SignedTicket.hasForm(secret) { return try await authenticate(signed: secret, hash, generation) }
        let answers = try await database.withConnection { connection in
            try await connection.pipeline([
                """
                SELECT api_key_id::text, scopes, bundle_id FROM api_keys
                WHERE secret_sha256 = \(hash) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
                """,
                // Once a minute is exact enough for people, and spares the row.
                """
                UPDATE api_keys SET last_used_at = now()
                WHERE secret_sha256 = \(hash) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
                  AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
                """,
            ])
        }
        for (id, scopes, app) in try answers[0].decoded(as: (String, [String], String?).self) {
            let principal = Principal(
                keyID: id,
                scopes: Set(scopes.compactMap(Scope.init(rawValue:))),
                app: app.map { BundleID(stored: $0) }
            )
            caches.principals.store(principal, for: hash, lookedUpIn: generation)
            return principal
        }
        caches.principals.remove(hash)
        return nil
    }

    // MARK: Reading

    private static var apiKeyColumns: String {
        """
        api_key_id::text, name, scopes, bundle_id, created_at, expires_at,
        last_used_at, revoked_at
        """
    }

    private static func apiKeys(_ rows: Rows) throws -> [APIKeyResource] {
        try rows.map { row in
            let scopes: [String] = try row["scopes"]
            let app: String? = try row["bundle_id"]
            return APIKeyResource(
                id: try row["api_key_id"],
                name: try row["name"],
                scopes: scopes.compactMap(Scope.init(rawValue:)),
                bundleID: app.map { BundleID(stored: $0) },
                createdAt: try row["created_at"],
                expiresAt: try row["expires_at"],
                lastUsedAt: try row["last_used_at"],
                revokedAt: try row["revoked_at"]
            )
        }
    }
}
