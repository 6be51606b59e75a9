package import APNSTransport
package import ActivityModel
import Cryptography
import Postgres

/// The key of an app and environment is not there: pushes wait until an operator registers one.
package struct SigningKeyMissing: Error, CustomStringConvertible {
    let bundleID: BundleID
    let environment: APNSEnvironment

    package init(bundleID: BundleID, environment: APNSEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    package var description: String { "app \(bundleID) has no signing key for \(environment.rawValue)" }
}

/// The key of an app and environment is there, but sealed with another master key.
package struct SigningKeyClosed: Error, CustomStringConvertible {
    let bundleID: BundleID
    let environment: APNSEnvironment
    let keyID: String

    package var description: String {
        "key \(keyID) of app \(bundleID) (\(environment.rawValue)) does not open with this daemon's TALLY_MASTER_KEY"
    }
}

/// The signing keys that pushes are made with, opened once; what is stored is believed for a few seconds.
///
/// A key that an operator replaces is in use within the cache's lifetime, without a restart.
package final class SigningIdentities: Sendable {
    private struct Key: Hashable, Sendable {
        let bundleID: BundleID
        let environment: APNSEnvironment
    }

    /// What was stored, and what it was opened to.
    private struct OpenedKey: Sendable {
        let sealed: [UInt8]
        let identity: SigningIdentity
    }

    private let database: Database
    private let masterKeys: MasterKeys
    private let keys: ExpiringCache<Key, OpenedKey>

    init(
        database: Database,
        masterKeys: MasterKeys,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock().now }
    ) {
        self.database = database
        self.masterKeys = masterKeys
        keys = ExpiringCache(lifetime: .seconds(5), limit: 1_000, now: now)
    }

    /// - Throws: ``SigningKeyMissing``; ``SigningKeyClosed``; `CryptographyError` if what was stored is no key.
    package func identity(of bundleID: BundleID, _ environment: APNSEnvironment) async throws -> SigningIdentity {
        let key = Key(bundleID: bundleID, environment: environment)
        let generation = keys.generation
        if case .fresh(let opened) = keys.lookUp(key) { return opened.identity }
        let opened = try await read(key)
        keys.store(opened, for: key, lookedUpIn: generation)
        return opened.identity
    }

    private func read(_ key: Key) async throws -> OpenedKey {
        let (bundleID, environment) = (key.bundleID, key.environment)
        let rows = try await database.query(
            """
            SELECT p.team_id, k.key_id, k.private_key_sealed
            FROM signing_keys AS k JOIN apps AS p USING (bundle_id)
            WHERE k.bundle_id = \(bundleID.rawValue) AND k.environment = \(environment.rawValue)::apns_environment
            """
        )
        guard let (team, keyID, sealed) = try rows.first(as: (String, String, [UInt8]).self) else {
            throw SigningKeyMissing(bundleID: bundleID, environment: environment)
        }
        // To open a key takes milliseconds, and nearly always it is the one that was opened before, be it by somebody
        // who looked at the same time.
        let known = keys.lookUp(key).value
        let privateKey =
            if let known, known.sealed == sealed {
                known.identity.privateKey
            } else {
                try open(sealed, of: key, keyID)
            }
        let identity = SigningIdentity(
            teamID: TeamID(stored: team),
            keyID: KeyID(stored: keyID),
            privateKey: privateKey
        )
        return OpenedKey(sealed: sealed, identity: identity)
    }

    private func open(_ sealed: [UInt8], of key: Key, _ keyID: String) throws -> P256PrivateKey {
        do throws(CryptographyError) {
            return try SecretSeal.signingKey(key.bundleID, key.environment).openKey(sealed, under: masterKeys)
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            throw SigningKeyClosed(bundleID: key.bundleID, environment: key.environment, keyID: keyID)
        }
    }
}
