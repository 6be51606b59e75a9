package import APNSTransport
import ActivityModel
import Cryptography
package import Logging
package import Postgres

/// The provider tokens of all daemons on one database: one per team and key.
///
/// Whoever needs one holds its row while `ProviderTokenIssuer` decides, so no two daemons ever sign at the same time.
/// Ages are counted by the database's clock.
package struct SharedProviderTokens: ProviderTokenStore {
    private let database: Database
    private let masterKeys: MasterKeys
    private let logger: Logger

    package init(database: Database, masterKeys: MasterKeys, logger: Logger) {
        self.database = database
        self.masterKeys = masterKeys
        self.logger = logger
    }

    /// - Throws: `CryptographyError` if the key cannot sign; `PostgresError` if the database is away.
    package func token(
        for identity: SigningIdentity,
        replacing expired: ProviderToken?
    ) async throws -> IssuedProviderToken {
        try await withIssuer(of: identity) { issuer, now in try issuer.issue(replacing: expired, now: now) }
    }

    package func tooManyTokens(for identity: SigningIdentity) async throws {
        logger.warning("APNs complains of too many provider tokens", metadata: Self.metadata(identity))
        try await withIssuer(of: identity) { issuer, now in issuer.tooManyTokens(now: now) }
    }

    /// Lends the stored issuer and the database's clock, and stores what became of it. Others wait meanwhile.
    private func withIssuer<Result>(
        of identity: SigningIdentity,
        _ body: (inout ProviderTokenIssuer, Timestamp) throws -> Result
    ) async throws -> Result {
        let row = try Row(identity)
        return try await database.withTransaction { connection in
            let results = try await connection.pipeline([row.insertion, row.selection])
            guard
                let (sealed, issuedAt, keptUntil, now) = try results[1].first(
                    as: ([UInt8]?, Int64?, Int64?, Int64).self
                )
            else { throw PostgresError(.misuse, message: "the row of a provider token is gone") }
            let current = sealed.flatMap { open($0, issuedAt: issuedAt ?? 0, of: identity) }
            var issuer = ProviderTokenIssuer(identity: identity, current: current, keptUntil: keptUntil)
            let result = try body(&issuer, now)
            if issuer.current != current || issuer.keptUntil != keptUntil {
                let sealed = try issuer.current.map { token throws in
                    try Self.seal(of: identity).seal(Array(token.text.utf8), under: masterKeys)
                }
                _ = try await connection.pipeline([
                    row.update(sealed, issuedAt: issuer.current?.issuedAt, keptUntil: issuer.keptUntil),
                    Row.expiry,
                ])
            }
            return result
        }
    }

    /// A token that does not open was sealed under another master key: a new one takes its place.
    private func open(_ sealed: [UInt8], issuedAt: Timestamp, of identity: SigningIdentity) -> ProviderToken? {
        do {
            let text = try Self.seal(of: identity).open(sealed, under: masterKeys)
            return ProviderToken(text: String(decoding: text, as: UTF8.self), issuedAt: issuedAt)
        } catch {
            logger.notice(
                "a stored provider token does not open and is replaced",
                metadata: Self.metadata(identity).merging(["error": "\(error)"]) { $1 }
            )
            return nil
        }
    }

    private static func seal(of identity: SigningIdentity) -> SecretSeal {
        .providerToken(identity.teamID, identity.keyID)
    }

    private static func metadata(_ identity: SigningIdentity) -> Logger.Metadata {
        ["apns.team": "\(identity.teamID)", "apns.key": "\(identity.keyID)"]
    }
}

extension SharedProviderTokens {
    /// The statements about one row of `provider_tokens`.
    private struct Row {
        private let teamID: String
        private let keyID: String
        private let publicKey: [UInt8]

        init(_ identity: SigningIdentity) throws(CryptographyError) {
            teamID = identity.teamID.rawValue
            keyID = identity.keyID.rawValue
            publicKey = SHA256.hash(Array(try identity.privateKey.publicKey.pem().utf8))
        }

        var insertion: Query {
            """
            INSERT INTO provider_tokens (team_id, key_id, public_key) VALUES (\(teamID), \(keyID), \(publicKey))
            ON CONFLICT DO NOTHING
            """
        }

        var selection: Query {
            """
            SELECT token_sealed, extract(epoch FROM issued_at)::int8, extract(epoch FROM kept_until)::int8,
                   floor(extract(epoch FROM clock_timestamp()))::int8
            FROM provider_tokens WHERE team_id = \(teamID) AND key_id = \(keyID) AND public_key = \(publicKey) FOR UPDATE
            """
        }

        func update(_ sealed: [UInt8]?, issuedAt: Timestamp?, keptUntil: Timestamp?) -> Query {
            """
            UPDATE provider_tokens
            SET token_sealed = \(sealed), issued_at = to_timestamp(\(issuedAt)), kept_until = to_timestamp(\(keptUntil))
            WHERE team_id = \(teamID) AND key_id = \(keyID) AND public_key = \(publicKey)
            """
        }

        /// Forgets what keys that are used no more have left; Apple takes a token for an hour.
        ///
        /// Not those that another holds: who holds one row and waits for a second may be waited for.
        static let expiry: Query = """
            DELETE FROM provider_tokens WHERE (team_id, key_id, public_key) IN (
                SELECT team_id, key_id, public_key FROM provider_tokens
                WHERE issued_at < clock_timestamp() - interval '1 day' FOR UPDATE SKIP LOCKED
            )
            """
    }
}
