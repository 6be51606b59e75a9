internal import ActivityModel
internal import Cryptography
internal import Synchronization

/// The provider tokens of this process: those of the store, cached while valid. Any number of concurrent pushes cause
/// one question to the store.
final class ProviderTokens: Sendable {
    /// No token is available. `outcome` is the result for a push.
    struct Missing: Error {
        let outcome: PushOutcome
    }

    /// The store did not answer before the deadline of the request.
    private struct TimeIsUp: Error, CustomStringConvertible {
        var description: String { "the store did not answer in time" }
    }

    private struct Question: Hashable, Sendable {
        let identity: SigningIdentity
        let expired: ProviderToken?
    }

    private let store: any ProviderTokenStore
    private let asking = SingleFlight<Question, ProviderToken>()
    private let caches = Mutex<[SigningIdentity: ProviderTokenCache]>([:])

    init(store: any ProviderTokenStore) {
        self.store = store
    }

    /// The token for a request that leaves now. While the store is unavailable, the last token is used until Apple
    /// refuses it.
    ///
    /// `due` is the deadline of the request. If another request is already asking the store, this one waits until
    /// that request's deadline.
    func token(
        for identity: SigningIdentity,
        until due: ContinuousClock.Instant
    ) async throws(Missing) -> ProviderToken {
        switch next(for: identity) {
        case .use(let token):
            return token
        case .ask(let meanwhile):
            let end = ProviderTokenCache.patience(meanwhile: meanwhile, until: due, now: .now)
            do {
                return try await asking.value(for: Question(identity: identity, expired: nil)) {
                    // Another request may have got the answer a moment ago.
                    if meanwhile == nil, case .use(let token) = next(for: identity) { return token }
                    return try await ask(identity, replacing: nil, until: end)
                }
            } catch {
                guard let meanwhile else { throw Missing(outcome: Self.outcome(of: error)) }
                return meanwhile
            }
        }
    }

    private func next(for identity: SigningIdentity) -> ProviderTokenCache.Step {
        caches.withLock { $0[identity, default: ProviderTokenCache()].next(now: .now) }
    }

    /// A token that differs from one that Apple called expired; `nil` if no other exists.
    func successor(
        of expired: ProviderToken,
        for identity: SigningIdentity,
        until due: ContinuousClock.Instant
    ) async -> ProviderToken? {
        switch step(after: expired, for: identity) {
        case nil: return nil
        case .use(let token): return token
        case .ask:
            let token = try? await asking.value(for: Question(identity: identity, expired: expired)) {
                switch step(after: expired, for: identity) {
                // Another request got the answer a moment ago.
                case nil: expired
                case .use(let token): token
                case .ask: try await ask(identity, replacing: expired, until: due)
                }
            }
            // If the store is unavailable, there is no other token, and Apple's answer stands.
            return token == expired ? nil : token
        }
    }

    private func step(after expired: ProviderToken, for identity: SigningIdentity) -> ProviderTokenCache.Step? {
        caches.withLock { $0[identity, default: ProviderTokenCache()].successor(of: expired, now: .now) }
    }

    /// Reports Apple's complaint of too many new tokens to the store.
    func tooMany(for identity: SigningIdentity, until due: ContinuousClock.Instant) async {
        guard caches.withLock({ $0[identity, default: ProviderTokenCache()].tooMany(now: .now) }) else { return }
        // Failures do not matter: an unavailable store has not made a new token either.
        try? await Self.within(due) { [store] in try await store.tooManyTokens(for: identity) }
    }

    private func ask(
        _ identity: SigningIdentity,
        replacing expired: ProviderToken?,
        until due: ContinuousClock.Instant
    ) async throws -> ProviderToken {
        let issued = try await Self.within(due) { [store] in
            try await store.token(for: identity, replacing: expired)
        }
        let now = ContinuousClock.now
        caches.withLock { caches in
            caches[identity, default: ProviderTokenCache()].answered(issued, replacing: expired, now: now)
            // Drops the tokens of replaced keys.
            caches = caches.filter { !$0.value.isOver(now: now) }
        }
        return issued.token
    }

    /// The result of `body`, which is cancelled at `due`.
    ///
    /// - Throws: The error of `body`, or ``TimeIsUp``.
    private static func within<Result: Sendable>(
        _ due: ContinuousClock.Instant,
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(until: due, clock: .continuous)
                throw TimeIsUp()
            }
            defer { group.cancelAll() }
            // The group has two tasks, so there is a first result.
            guard let first = try await group.next() else { throw TimeIsUp() }
            return first
        }
    }

    private static func outcome(of error: any Error) -> PushOutcome {
        PushOutcome(error is CryptographyError ? .credential : .notSent, detail: "no provider token: \(error)")
    }
}

extension PushOutcome {
    /// Whether Apple calls the provider token too old ("Handling notification responses from APNs").
    var isForExpiredToken: Bool { reason == "ExpiredProviderToken" }

    /// Whether Apple complains that tokens change too often (same page).
    var isForTooManyTokens: Bool { reason == "TooManyProviderTokenUpdates" }
}
