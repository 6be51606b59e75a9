import ActivityModel
import Cryptography
import Logging
import Postgres
import ServiceLifecycle

/// While the master key is being replaced: seals with the new one what lies in the database under another one.
///
/// It looks again every minute, because a daemon that does not know the new key yet may still seal with the old one.
struct MasterKeyRotation: Service, CustomStringConvertible {
    let database: Database
    let keys: MasterKeys
    let logger: Logger

    /// What one pass found.
    struct Findings: Equatable {
        var resealed = 0
        /// Sealed with none of the keys.
        var unreadable = 0
    }

    private static let interval = Duration.seconds(60)

    var description: String { "master-key-rotation" }

    func run() async {
        guard !keys.others.isEmpty else {
            // Nothing is being replaced.
            try? await gracefulShutdown()  // throws only when cancelled
            return
        }
        await repeating("seal secrets anew", every: Self.interval, logger: logger) { report(try await pass()) }
    }

    private func report(_ findings: Findings) {
        if findings.unreadable > 0 {
            logger.error(
                "secrets open with no key in TALLY_MASTER_KEY",
                metadata: ["count": "\(findings.unreadable)"]
            )
        } else if findings.resealed > 0 {
            logger.notice(
                "secrets are sealed with the new master key",
                metadata: ["count": "\(findings.resealed)"]
            )
        }
    }

    func pass() async throws -> Findings {
        var findings = Findings()
        let keyRows = try await database.query(
            "SELECT bundle_id, environment::text, private_key_sealed FROM signing_keys"
        )
        for (app, environment, sealed) in try keyRows.decoded(as: (String, String, [UInt8]).self) {
            let context = try SecretSeal.signingKey(BundleID(stored: app), .stored(environment)).context
            guard let new = resealed(sealed, context, &findings) else { continue }
            // Only what was read: an operator may have replaced it meanwhile.
            findings.resealed += try await database.execute(
                """
                UPDATE signing_keys SET private_key_sealed = \(new)
                WHERE bundle_id = \(app) AND environment = \(environment)::apns_environment
                  AND private_key_sealed = \(sealed)
                """
            )
        }
        let ticketRows = try await database.query("SELECT bundle_id, ticket_key_id::text, key_sealed FROM ticket_keys")
        for (app, id, sealed) in try ticketRows.decoded(as: (String, String, [UInt8]).self) {
            let context = SecretSeal.ticketKey(BundleID(stored: app), id).context
            guard let new = resealed(sealed, context, &findings) else { continue }
            findings.resealed += try await database.execute(
                """
                UPDATE ticket_keys SET key_sealed = \(new)
                WHERE ticket_key_id = \(id)::uuid AND key_sealed = \(sealed)
                """
            )
        }
        let webhookRows = try await database.query("SELECT bundle_id, webhook_id, secret_sealed FROM webhooks")
        for (app, id, sealed) in try webhookRows.decoded(as: (String, String, [UInt8]).self) {
            let context = SecretSeal.webhook(BundleID(stored: app), WebhookID(stored: id)).context
            guard let new = resealed(sealed, context, &findings) else { continue }
            findings.resealed += try await database.execute(
                """
                UPDATE webhooks SET secret_sealed = \(new)
                WHERE bundle_id = \(app) AND webhook_id = \(id) AND secret_sealed = \(sealed)
                """
            )
        }
        let tokenRows = try await database.query(
            "SELECT team_id, key_id, public_key, token_sealed FROM provider_tokens WHERE token_sealed IS NOT NULL"
        )
        for (team, key, publicKey, sealed) in try tokenRows.decoded(as: (String, String, [UInt8], [UInt8]).self) {
            let context = SecretSeal.providerToken(TeamID(stored: team), KeyID(stored: key)).context
            guard let new = resealed(sealed, context, &findings) else { continue }
            findings.resealed += try await database.execute(
                """
                UPDATE provider_tokens SET token_sealed = \(new)
                WHERE team_id = \(team) AND key_id = \(key) AND public_key = \(publicKey) AND token_sealed = \(sealed)
                """
            )
        }
        return findings
    }

    private func resealed(_ sealed: [UInt8], _ context: [UInt8], _ findings: inout Findings) -> [UInt8]? {
        do {
            return try keys.resealed(sealed, authenticating: context)
        } catch {
            findings.unreadable += 1
            return nil
        }
    }
}
