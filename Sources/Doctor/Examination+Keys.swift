import APITypes
import ActivityModel
import Cryptography
import Postgres
import ReportTypes
import Store

/// A stored signing key.
struct SigningKeyFacts: Sendable {
    let app: BundleID
    let environment: APNSEnvironment
    let keyID: String
    let sealed: [UInt8]

    /// How a check names it.
    var subject: String { "\(app) (\(environment.rawValue))" }
}

extension Examination {
    /// The keys of the apps and environments that are looked at.
    func signingKeys() async throws -> [SigningKeyFacts] {
        let rows = try await database.query(
            """
            SELECT bundle_id, environment::text, key_id, private_key_sealed FROM signing_keys
            WHERE (\(app)::text IS NULL OR bundle_id = \(app)) AND (\(environment)::text IS NULL OR environment::text = \(environment))
            ORDER BY bundle_id, environment DESC
            """,
            timeout: Self.patience
        )
        return try rows.decoded(as: (String, String, String, [UInt8]).self).map { app, environment, keyID, sealed in
            SigningKeyFacts(
                app: BundleID(stored: app),
                environment: try .stored(environment),
                keyID: keyID,
                sealed: sealed
            )
        }
    }

    /// Whether each of them opens with the daemon's master key and is P-256.
    func signingKeyChecks(_ keys: [SigningKeyFacts]) -> [DoctorCheck] {
        guard !keys.isEmpty else {
            return [
                DoctorCheck(
                    "signing_key",
                    .warning,
                    "There is no app with a signing key here.",
                    advice: "Register one with `tally apps put`."
                )
            ]
        }
        return keys.map { key in
            do throws(CryptographyError) {
                let seal = SecretSeal.signingKey(key.app, key.environment)
                _ = try seal.openKey(key.sealed, under: doctor.store.masterKeys)
                return DoctorCheck("signing_key", of: key.subject, .ok, "key \(key.keyID) is P-256")
            } catch {
                return Self.check(of: key, error)
            }
        }
    }

    /// Apps whose work fails because they have no key where they send.
    func missingKeyChecks() async throws -> [DoctorCheck] {
        let rows = try await database.query(
            """
            SELECT a.bundle_id, a.environment::text, count(DISTINCT a.activity_key)
            FROM segments AS s JOIN activities AS a USING (activity_key)
            WHERE s.due_at IS NOT NULL AND s.failures > 0
              AND (\(app)::text IS NULL OR a.bundle_id = \(app))
              AND (\(environment)::text IS NULL OR a.environment::text = \(environment))
              AND NOT EXISTS (
                  SELECT FROM signing_keys AS k WHERE k.bundle_id = a.bundle_id AND k.environment = a.environment
              )
            GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 50
            """,
            timeout: Self.patience
        )
        return try rows.decoded(as: (String, String, Int64).self).map {
            (app: String, environment: String, count: Int64) in
            DoctorCheck(
                "signing_key",
                of: "\(app) (\(environment))",
                .broken,
                "There is no signing key, and changes of \(count) activities wait for one.",
                advice: "Register the .p8 file with `tally apps put \(app)`."
            )
        }
    }

    private static func check(of key: SigningKeyFacts, _ error: CryptographyError) -> DoctorCheck {
        guard error.code == .authenticationFailed else {
            let finding = "The stored key \(key.keyID) is not a P-256 private key."
            let advice = "Register the .p8 file again with `tally apps put`."
            return DoctorCheck("signing_key", of: key.subject, .broken, finding, advice: advice)
        }
        let finding = "Key \(key.keyID) does not open with this daemon's TALLY_MASTER_KEY."
        let advice =
            "Start the daemon with the master key that was in use when the .p8 file was registered. Or register the file "
            + "again with `tally apps put`."
        return DoctorCheck("signing_key", of: key.subject, .broken, finding, advice: advice)
    }

    /// Whether Apple refuses key, team, topic or capability, as this daemon has heard within the last minutes.
    func refusalChecks() -> [DoctorCheck] {
        let refusals = doctor.store.credentials.current().filter { refusal in
            let scope = refusal.place.scope
            return request.bundleID.map { $0 == scope.app } ?? true
                && request.environment.map { $0 == scope.environment } ?? true
        }
        return refusals.map { refusal in
            let scope = refusal.place.scope
            let pushes = refusal.place.isBroadcast ? "broadcasts" : "pushes"
            return DoctorCheck(
                "credential",
                of: "\(scope.app) (\(scope.environment.rawValue))",
                .broken,
                "APNs refuses the \(pushes) of this app: \(refusal.words). They wait.",
                advice: Self.advice(forReason: refusal.reason, of: scope.app)
            )
        }
    }

    private static func advice(forReason reason: String?, of app: BundleID) -> String {
        let register = "register the right key with `tally apps put` (docs/guides/on-call.md#tallycredentialrefused)."
        return switch reason {
        case "ExpiredProviderToken": "A clock is wrong by an hour: let this machine and the database's follow NTP."
        case "InvalidProviderToken":
            "Key, key id and team do not belong together. Compare `tally apps show \(app)` with Apple's developer "
                + "portal, and " + register
        case "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadCertificateEnvironment":
            "The key may not send in this environment: " + register
        case "TopicDisallowed", "TopicMismatch":
            "The key may not send for this bundle id: look at the id and the team, and " + register
        case "FeatureNotEnabled", "BroadcastFeatureNotEnabled":
            "Give the App ID the Broadcast capability in Apple's developer portal. Only channels suffer."
        default: "Compare `tally apps show \(app)` with Apple's developer portal, and " + register
        }
    }

    /// Whether Apple has complained of the provider tokens.
    func credentialChecks() async throws -> [DoctorCheck] {
        let rows = try await database.query(
            """
            SELECT DISTINCT p.team_id, p.key_id FROM provider_tokens AS p
            JOIN signing_keys AS k USING (key_id) JOIN apps AS a ON a.bundle_id = k.bundle_id AND a.team_id = p.team_id
            WHERE p.kept_until > clock_timestamp() AND (\(app)::text IS NULL OR k.bundle_id = \(app))
            ORDER BY 1, 2
            """,
            timeout: Self.patience
        )
        return try rows.decoded(as: (String, String).self).map { team, key in
            DoctorCheck(
                "provider_token",
                of: "team \(team), key \(key)",
                .warning,
                "APNs has answered TooManyProviderTokenUpdates; no new token is signed for a while.",
                advice: "Let only Tally sign with this key, or give the other system a key of its own."
            )
        }
    }
}
