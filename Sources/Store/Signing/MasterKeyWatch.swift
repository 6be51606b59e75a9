import ActivityModel
import Cryptography
import Logging
import Postgres
import ServiceLifecycle
import Synchronization

/// Knows whether this daemon's master key opens the signing keys. With a wrong one it could only fail the work that it took
/// from others.
package final class MasterKeyWatch: Sendable {
    /// How many signing keys were tried, and how many of them did not open.
    struct Look: Sendable, Equatable {
        var tried = 0
        var closed = 0
    }

    private struct State {
        var look = Look()
        /// When it was last told that keys do not open.
        var toldAt: ContinuousClock.Instant?
    }

    /// How long keys that do not open are no news.
    private static let silence = Duration.seconds(60)

    private let state = Mutex(State())

    init() {}

    /// Whether no key opens. Then this daemon takes no pushes to send, and leaves them to others.
    ///
    /// If only some open, it goes on: a registered key may be older than the master key, and nobody else opens it either.
    package var cannotSend: Bool {
        let look = state.withLock { $0.look }
        return look.closed > 0 && look.closed == look.tried
    }

    /// What operators are told while keys do not open.
    package var warning: String? {
        let look = state.withLock { $0.look }
        guard look.closed > 0 else { return nil }
        return """
            \(look.closed) of \(look.tried) signing keys do not open with this daemon's TALLY_MASTER_KEY: it cannot send \
            for their apps. 'tally doctor' says which.
            """
    }

    /// - Returns: Whether it is news that keys do not open, or was told long ago.
    fileprivate func saw(_ look: Look, at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            let wasTold = state.toldAt.map { $0.duration(to: now) < Self.silence } ?? false
            let isNews = look.closed > 0 && (look != state.look || !wasTold)
            state.look = look
            if isNews { state.toldAt = now }
            return isNews
        }
    }
}

/// Tries at the start and every minute whether the master key opens signing keys. While none opens, it tries every few
/// seconds, so that the daemon sends as soon as one does.
///
/// The daemon goes on if it does not: to register the keys again needs its API.
struct MasterKeyCheck: Service, CustomStringConvertible {
    let store: Store

    private static let (interval, shortInterval) = (Duration.seconds(60), Duration.seconds(5))
    /// So many are enough: a wrong master key opens none.
    private static let most: Int64 = 20

    var description: String { "master-key-check" }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do { try await self.look() } catch { self.store.logger.failed("cannot try the master key", error) }
                let pause = self.store.masterKeyWatch.cannotSend ? Self.shortInterval : Self.interval
                try? await Task.sleep(for: pause)  // throws only when cancelled
            }
        }
    }

    func look() async throws {
        let rows = try await store.database.query(
            """
            SELECT bundle_id, environment::text, key_id, private_key_sealed FROM signing_keys
            ORDER BY bundle_id, signing_keys.environment LIMIT \(Self.most)
            """
        )
        var look = MasterKeyWatch.Look()
        var first: Logger.Metadata = [:]
        for (app, environment, keyID, sealed) in try rows.decoded(as: (String, String, String, [UInt8]).self) {
            let seal = SecretSeal.signingKey(BundleID(stored: app), try APNSEnvironment.stored(environment))
            look.tried += 1
            do { _ = try seal.open(sealed, under: store.masterKeys) } catch {
                look.closed += 1
                if first.isEmpty { first = ["app": "\(app)", "environment": "\(environment)", "key.id": "\(keyID)"] }
            }
        }
        guard store.masterKeyWatch.saw(look) else { return }
        store.logger.error(
            "signing keys do not open with this daemon's TALLY_MASTER_KEY",
            metadata: first.merging(["tried": "\(look.tried)", "closed": "\(look.closed)"]) { $1 }
        )
    }
}
