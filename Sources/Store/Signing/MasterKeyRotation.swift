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
        try await reseal("signing_keys", "bundle_id", "environment", "private_key_sealed", &findings) {
            try .signingKey(BundleID(stored: $0), .stored($1))
        }
        try await reseal("ticket_keys", "bundle_id", "ticket_key_id", "key_sealed", &findings) {
            .ticketKey(BundleID(stored: $0), $1)
        }
        try await reseal("webhooks", "bundle_id", "webhook_id", "secret_sealed", &findings) {
            .webhook(BundleID(stored: $0), WebhookID(stored: $1))
        }
        try await reseal("provider_tokens", "team_id", "key_id", "token_sealed", &findings) {
            .providerToken(TeamID(stored: $0), KeyID(stored: $1))
        }
        return findings
    }

    /// Seals the `secret` of each row of a table anew. The columns `owner` and `id` say to which row it belongs.
    private func reseal(
        _ table: String,
        _ owner: String,
        _ id: String,
        _ secret: String,
        _ findings: inout Findings,
        _ seal: (String, String) throws -> SecretSeal
    ) async throws {
        let rows = try await database.query(
            """
            SELECT \(unescaped: owner), \(unescaped: id)::text, \(unescaped: secret) FROM \(unescaped: table)
            WHERE \(unescaped: secret) IS NOT NULL
            """
        )
        for (first, second, sealed) in try rows.decoded(as: (String, String, [UInt8]).self) {
            let context = try seal(first, second).context
            let new: [UInt8]
            do {
                guard let resealed = try keys.resealed(sealed, authenticating: context) else { continue }
                new = resealed
            } catch {
                findings.unreadable += 1
                continue
            }
            // Only what was read: an operator may have replaced it meanwhile.
            findings.resealed += try await database.execute(
                """
                UPDATE \(unescaped: table) SET \(unescaped: secret) = \(new)
                WHERE \(unescaped: owner) = \(first) AND \(unescaped: id)::text = \(second)
                  AND \(unescaped: secret) = \(sealed)
                """
            )
        }
    }
}
