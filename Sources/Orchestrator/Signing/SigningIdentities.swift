import APNSTransport
import ActivityModel
import Cryptography
import Postgres

/// The key of an app and environment is not there: pushes wait until an operator registers one.
struct SigningKeyMissing: Error, CustomStringConvertible {
    let bundleID: BundleID
    let environment: APNSEnvironment

    var description: String { "app \(bundleID) has no signing key for \(environment.rawValue)" }
}

/// The signing keys that pushes are made with, opened once and believed for a few seconds.
///
/// A key that an operator replaces is in use within the cache's lifetime, without a restart.
final class SigningIdentities: Sendable {
    private struct Key: Hashable, Sendable {
        let bundleID: BundleID
        let environment: APNSEnvironment
    }

    private let database: Database
    private let masterKeys: MasterKeys
    private let identities: ExpiringCache<Key, SigningIdentity>

    init(database: Database, masterKeys: MasterKeys) {
        self.database = database
        self.masterKeys = masterKeys
        identities = ExpiringCache(lifetime: .seconds(5), limit: 1_000) { ContinuousClock().now }
    }

    /// - Throws: ``SigningKeyMissing``; `CryptographyError` if the master key is not the one it was sealed with.
    func identity(of bundleID: BundleID, _ environment: APNSEnvironment) async throws -> SigningIdentity {
        let key = Key(bundleID: bundleID, environment: environment)
        let generation = identities.generation
        let known: SigningIdentity?
        switch identities.lookUp(key) {
        case .fresh(let identity): return identity
        case .outdated(let identity): known = identity
        case .missing: known = nil
        }
        let stored = try await read(bundleID, environment)
        // Of two equal ones the first stays: with itself it is compared in no time, as is done for every push.
        let identity = known.flatMap { $0 == stored ? $0 : nil } ?? stored
        identities.store(identity, for: key, lookedUpIn: generation)
        return identity
    }

    private func read(_ bundleID: BundleID, _ environment: APNSEnvironment) async throws -> SigningIdentity {
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
        return SigningIdentity(
            teamID: TeamID(stored: team),
            keyID: KeyID(stored: keyID),
            privateKey: try SigningKeySeal.open(
                sealed,
                app: bundleID,
                environment: environment,
                masterKeys: masterKeys
            )
        )
    }
}
