package import APITypes
package import ActivityModel
import Cryptography
import JSON
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Makes a key with which a backend signs tickets; the answer alone holds its secret.
    ///
    /// The app's other keys stay good. So a backend changes to a new key first, and revokes the old one afterwards.
    ///
    /// - Throws: 404 for an unknown app.
    package func createTicketKey(_ app: BundleID, _ request: TicketKeyRequest) async throws -> TicketKeyResource {
        let (key, secret) = try TicketKey.generate(request.algorithm)
        let stored = try key.bytes()
        return try await database.withTransaction { connection in
            try await store.holdApp(app, connection)
            guard
                let id = try await connection.query("SELECT gen_random_uuid()::text").single(String.self)
            else { throw Problem.internalError() }
            let sealed = try SecretSeal.ticketKey(app, id).seal(stored, under: masterKeys)
            let rows = try await connection.query(
                """
                INSERT INTO ticket_keys (ticket_key_id, bundle_id, algorithm, key_sealed)
                VALUES (\(id)::uuid, \(app.rawValue), \(request.algorithm.rawValue), \(sealed))
                RETURNING \(unescaped: Self.ticketKeyColumns)
                """
            )
            guard var made = try Self.ticketKeys(rows).first else { throw Problem.internalError() }
            try await AuditRows.record(.ticketKeyCreated, of: app, id, after: made.json, on: connection)
            made.secret = secret
            return made
        }
    }

    /// The ticket keys of an app, the oldest first, without their secrets.
    ///
    /// - Throws: 404 for an unknown app.
    package func ticketKeys(_ app: BundleID, _ page: PageRequest) async throws -> Page<TicketKeyResource> {
        // The id of a key is a UUID like that of a channel.
        let place = try page.position(in: .ticketKeys, PGTimestamp.self, ChannelID.self)
        let after = place?.0
        let rows = try await database.query(
            """
            SELECT \(unescaped: Self.ticketKeyColumns) FROM ticket_keys
            WHERE bundle_id = \(app.rawValue)
              AND (\(after)::timestamptz IS NULL OR (created_at, ticket_key_id) > (\(after), \(place?.1.rawValue)::uuid))
            ORDER BY created_at, ticket_key_id LIMIT \(page.limit + 1)
            """
        )
        let keys = try Self.ticketKeys(rows)
        if keys.isEmpty { try await store.requireApp(app) }
        return .cut(keys, of: .ticketKeys, limit: page.limit) { [String($0.createdAt.microseconds), $0.id] }
    }

    /// Revokes a key, now or in some time. An earlier time wins over a later one. Its tickets are good for some seconds
    /// more on other daemons.
    ///
    /// - Throws: 404.
    package func revokeTicketKey(_ app: BundleID, _ id: String, afterSeconds: Int) async throws {
        let isFound = try await database.withTransaction { connection in
            let stored = try await connection.query(
                """
                SELECT \(unescaped: Self.ticketKeyColumns) FROM ticket_keys
                WHERE ticket_key_id = \(id)::uuid AND bundle_id = \(app.rawValue) FOR NO KEY UPDATE
                """
            )
            guard let before = try Self.ticketKeys(stored).first else { return false }
            let changed = try await connection.query(
                """
                UPDATE ticket_keys SET revoked_at = now() + make_interval(secs => \(afterSeconds))
                WHERE ticket_key_id = \(id)::uuid
                  AND (revoked_at IS NULL OR revoked_at > now() + make_interval(secs => \(afterSeconds)))
                RETURNING \(unescaped: Self.ticketKeyColumns)
                """
            )
            guard let after = try Self.ticketKeys(changed).first else { return true }
            try await AuditRows.record(
                .ticketKeyRevoked,
                of: app,
                id,
                before: before.json,
                after: after.json,
                on: connection
            )
            return true
        }
        caches.principals.removeAll()
        if !isFound { throw Problem.notFound("the ticket key") }
    }

    // MARK: Reading

    private static var ticketKeyColumns: String { "ticket_key_id::text, algorithm, created_at, revoked_at" }

    private static func ticketKeys(_ rows: Rows) throws -> [TicketKeyResource] {
        try rows.decoded(as: (String, String, PGTimestamp, PGTimestamp?).self).map { id, algorithm, created, revoked in
            TicketKeyResource(
                id: id,
                algorithm: try .stored(algorithm),
                createdAt: Instant(created),
                revokedAt: revoked.map { Instant($0) }
            )
        }
    }
}
