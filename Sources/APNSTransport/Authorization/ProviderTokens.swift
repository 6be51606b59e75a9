internal import ActivityModel
internal import Cryptography
internal import Synchronization

/// The provider tokens that this process sends with: those of the store, remembered while they are good.
final class ProviderTokens: Sendable {
    /// There is no token to send with. `outcome` is what that means for a push.
    struct Missing: Error {
        let outcome: PushOutcome
    }

    private let store: any ProviderTokenStore
    private let caches = Mutex<[SigningIdentity: ProviderTokenCache]>([:])

    init(store: any ProviderTokenStore) {
        self.store = store
    }

    /// The token for a request that leaves now. While the store is away the last one serves as long as Apple takes it.
    func token(for identity: SigningIdentity) async throws(Missing) -> ProviderToken {
        let step = caches.withLock { $0[identity, default: ProviderTokenCache()].next(now: .now) }
        switch step {
        case .use(let token):
            return token
        case .ask(let meanwhile):
            do {
                return try await ask(identity, replacing: nil)
            } catch {
                guard let meanwhile else { throw Missing(outcome: Self.outcome(of: error)) }
                return meanwhile
            }
        }
    }

    /// Another token than one that Apple called expired; nil if there is none.
    func successor(of expired: ProviderToken, for identity: SigningIdentity) async -> ProviderToken? {
        let step = caches.withLock {
            $0[identity, default: ProviderTokenCache()].successor(of: expired, now: .now)
        }
        switch step {
        case nil: return nil
        case .use(let token): return token
        case .ask:
            // Without the store there is no other token, and the push keeps Apple's answer.
            guard let token = try? await ask(identity, replacing: expired), token != expired else { return nil }
            return token
        }
    }

    /// Apple complained of too many new tokens.
    func tooMany(for identity: SigningIdentity) async {
        // Advice for later: a store that is away has not made a new token either.
        try? await store.tooManyTokens(for: identity)
    }

    private func ask(_ identity: SigningIdentity, replacing expired: ProviderToken?) async throws -> ProviderToken {
        let issued = try await store.token(for: identity, replacing: expired)
        let now = ContinuousClock.now
        caches.withLock { caches in
            caches[identity, default: ProviderTokenCache()].answered(issued, replacing: expired, now: now)
            // Keys that were replaced leave nothing behind.
            caches = caches.filter { !$0.value.isOver(now: now) }
        }
        return issued.token
    }

    private static func outcome(of error: any Error) -> PushOutcome {
        PushOutcome(error is CryptographyError ? .credential : .notSent, detail: "no provider token: \(error)")
    }
}

extension PushOutcome {
    /// Apple calls the provider token too old ("Handling notification responses from APNs").
    var isForExpiredToken: Bool { reason == "ExpiredProviderToken" }

    /// Apple complains that tokens change too often (there as well).
    var isForTooManyTokens: Bool { reason == "TooManyProviderTokenUpdates" }
}
