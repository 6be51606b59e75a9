import ActivityModel
import Postgres

extension SealedSecrets {
    /// Those of `provider_tokens`.
    static let providerTokens = SealedSecrets(
        selection: """
            SELECT team_id, key_id::text, token_sealed FROM provider_tokens
            WHERE token_sealed IS NOT NULL
            """,
        seal: { .providerToken(TeamID(stored: $0), KeyID(stored: $1)) },
        update: { found, sealed in
            """
            UPDATE provider_tokens SET token_sealed = \(sealed)
            WHERE team_id = \(found.owner) AND key_id::text = \(found.id)
              AND token_sealed = \(found.sealed)
            """
        }
    )
}
