import ActivityModel
import Cryptography
import Logging
import Postgres
import ServiceLifecycle
import Synchronization

/// Knows whether this daemon's master key opens the signing keys. With a wrong one it takes work and cannot do it.
package final class MasterKeyWatch: Sendable {
    /// How many signing keys were tried, and how many of them did not open.
    struct Look: Sendable, Equatable {
        var tried = 0
        var closed = 0
    }

    private let last = Mutex(Look())

    init() {}

    /// What operators are told while keys do not open.
    package var warning: String? {
        let look = last.withLock { $0 }
        guard look.closed > 0 else { return nil }
        return """
            \(look.closed) of \(look.tried) signing keys do not open with this daemon's TALLY_MASTER_KEY: it cannot send \
            for their apps. 'tally doctor' says which.
            """
    }

    fileprivate func saw(_ look: Look) { last.withLock { $0 = look } }
}

/// Tries at the start and every minute whether the master key opens signing keys.
///
/// The daemon goes on if it does not: to register the keys again needs its API.
struct MasterKeyCheck: Service, CustomStringConvertible {
    let store: Store

    private static let interval = Duration.seconds(60)
    /// So many are enough: a wrong master key opens none.
    private static let most: Int64 = 20

    var description: String { "master-key-check" }

    func run() async {
        await repeating("try the master key", every: Self.interval, logger: store.logger) { try await look() }
    }

    func look() async throws {
        let rows = try await store.database.query(
            """
            SELECT bundle_id, environment::text, private_key_sealed FROM signing_keys
            ORDER BY bundle_id, signing_keys.environment LIMIT \(Self.most)
            """
        )
        var look = MasterKeyWatch.Look()
        for (app, environment, sealed) in try rows.decoded(as: (String, String, [UInt8]).self) {
            let seal = SecretSeal.signingKey(BundleID(stored: app), try APNSEnvironment.stored(environment))
            look.tried += 1
            do { _ = try seal.open(sealed, under: store.masterKeys) } catch { look.closed += 1 }
        }
        store.masterKeyWatch.saw(look)
        guard look.closed > 0 else { return }
        store.logger.error(
            "signing keys do not open with this daemon's TALLY_MASTER_KEY",
            metadata: ["tried": "\(look.tried)", "closed": "\(look.closed)"]
        )
    }
}
