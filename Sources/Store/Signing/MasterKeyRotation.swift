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
    /// The secrets of the rooms above.
    let secrets: [SealedSecrets]
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
        for secrets in [SealedSecrets.providerTokens] + secrets { try await reseal(secrets, &findings) }
        return findings
    }

    private func reseal(_ secrets: SealedSecrets, _ findings: inout Findings) async throws {
        let rows = try await database.query(secrets.selection)
        for (owner, id, sealed) in try rows.decoded(as: (String, String, [UInt8]).self) {
            let context = try secrets.seal(owner, id).context
            let new: [UInt8]
            do {
                guard let resealed = try keys.resealed(sealed, authenticating: context) else { continue }
                new = resealed
            } catch {
                findings.unreadable += 1
                continue
            }
            let found = SealedSecrets.Found(owner: owner, id: id, sealed: sealed)
            findings.resealed += try await database.execute(secrets.update(found, new))
        }
    }
}
