import ActivityModel
import Postgres
package import Store

extension SealedSecrets {
    /// Those of `signing_keys`.
    package static let signingKeys = SealedSecrets(
        selection: """
            SELECT bundle_id, environment::text, private_key_sealed FROM signing_keys
            WHERE private_key_sealed IS NOT NULL
            """,
        seal: { try .signingKey(BundleID(stored: $0), .stored($1)) },
        update: { found, sealed in
            """
            UPDATE signing_keys SET private_key_sealed = \(sealed)
            WHERE bundle_id = \(found.owner) AND environment::text = \(found.id)
              AND private_key_sealed = \(found.sealed)
            """
        }
    )
}
