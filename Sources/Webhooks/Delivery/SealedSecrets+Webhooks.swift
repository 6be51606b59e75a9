import ActivityModel
import Postgres
package import Store

extension SealedSecrets {
    /// Those of `webhooks`.
    package static let webhooks = SealedSecrets(
        selection: """
            SELECT bundle_id, webhook_id::text, secret_sealed FROM webhooks
            WHERE secret_sealed IS NOT NULL
            """,
        seal: { .webhook(BundleID(stored: $0), WebhookID(stored: $1)) },
        update: { found, sealed in
            """
            UPDATE webhooks SET secret_sealed = \(sealed)
            WHERE bundle_id = \(found.owner) AND webhook_id::text = \(found.id)
              AND secret_sealed = \(found.sealed)
            """
        }
    )
}
