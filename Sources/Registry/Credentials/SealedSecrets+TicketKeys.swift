import ActivityModel
import Postgres
package import Store

extension SealedSecrets {
    /// Those of `ticket_keys`.
    package static let ticketKeys = SealedSecrets(
        selection: """
            SELECT bundle_id, ticket_key_id::text, key_sealed FROM ticket_keys
            WHERE key_sealed IS NOT NULL
            """,
        seal: { .ticketKey(BundleID(stored: $0), $1) },
        update: { found, sealed in
            """
            UPDATE ticket_keys SET key_sealed = \(sealed)
            WHERE bundle_id = \(found.owner) AND ticket_key_id::text = \(found.id)
              AND key_sealed = \(found.sealed)
            """
        }
    )
}
