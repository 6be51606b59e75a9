internal import ActivityModel
internal import Cryptography
internal import Synchronization

/// The provider tokens that this process sends with: those of the store, remembered while they are good. However many
/// pushes want one at the same time, the store is asked once.
final class ProviderTokens: Sendable {
    /// There is no token to send with. `outcome` is what that means for a push.
    struct Missing: Error {
        let outcome: PushOutcome
    }

    /// The store did not answer by the deadline of what was to be sent.
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

    /// The token for a request that leaves now. While the store is away the last one serves as long as Apple takes it.
    ///
    /// `due` is when the request has to be over; who waits for another's question waits as long as that one's.
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
                    // Another may have had the answer a moment ago.
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

    /// Another token than one that Apple called expired; nil if there is none.
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
                // Another has had the answer a moment ago.
                case nil: expired
                case .use(let token): token
                case .ask: try await ask(identity, replacing: expired, until: due)
                }
            }
            // Without the store there is no other token, and the push keeps Apple's answer.
            return token == expired ? nil : token
        }
    }

    private func step(after expired: ProviderToken, for identity: SigningIdentity) -> ProviderTokenCache.Step? {
        caches.withLock { $0[identity, default: ProviderTokenCache()].successor(of: expired, now: .now) }
    }

    /// Apple complained of too many new tokens.
    func tooMany(for identity: SigningIdentity, until due: ContinuousClock.Instant) async {
        guard caches.withLock({ $0[identity, default: ProviderTokenCache()].tooMany(now: .now) }) else { return }
        // Advice for later: a store that is away has not made a new token either.
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
            // Keys that were replaced leave nothing behind.
            caches = caches.filter { !$0.value.isOver(now: now) }
        }
        return issued.token
    }

    /// What `body` gives by `due`; it is cancelled then.
    ///
    /// - Throws: What `body` throws; ``TimeIsUp``.
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
            // Two tasks were added, so there is a first.
            guard let first = try await group.next() else { throw TimeIsUp() }
            return first
        }
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
