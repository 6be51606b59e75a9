internal import Synchronization
package import ActivityModel

/// Where provider tokens come from.
///
/// Apple wants one token at a time for a team and key, whatever sends with it, so all who share a key share a store.
/// What is remembered of a token on the way, and when another is asked for, is the transport's business.
package protocol ProviderTokenStore: Sendable {
    /// The token to send with now, made anew if it is time.
    ///
    /// `expired` is one that Apple called expired: another is wanted. It comes back if a new one would be too early.
    /// Throws `CryptographyError` if the key cannot sign, anything else if the store is away. Cancelled at the deadline
    /// of what is to be sent.
    func token(for identity: SigningIdentity, replacing expired: ProviderToken?) async throws -> IssuedProviderToken

    /// Apple complained of too many new tokens: the present one is to stay.
    func tooManyTokens(for identity: SigningIdentity) async throws
}

/// A token and how old it is, by the clock that gave it its `iat`.
package struct IssuedProviderToken: Sendable, Hashable {
    package let token: ProviderToken
    /// Seconds since it was issued.
    package let age: Int64

    /// An issued token.
    package init(_ token: ProviderToken, age: Int64) {
        self.token = token
        self.age = age
    }
}

/// A store that lives and dies with the process: for one that shares its keys with nobody.
package final class LocalProviderTokens: ProviderTokenStore {
    private let issuers = Mutex<[SigningIdentity: ProviderTokenIssuer]>([:])
    private let now: @Sendable () -> Timestamp

    /// A store by a wall clock in UNIX seconds.
    package init(now: @escaping @Sendable () -> Timestamp = { APNSClient.wallClock() }) {
        self.now = now
    }

    package func token(
        for identity: SigningIdentity,
        replacing expired: ProviderToken?
    ) throws -> IssuedProviderToken {
        try issuers.withLock { issuers in
            try issuers[identity, default: ProviderTokenIssuer(identity: identity)]
                .issue(replacing: expired, now: now())
        }
    }

    package func tooManyTokens(for identity: SigningIdentity) {
        issuers.withLock { issuers in
            issuers[identity, default: ProviderTokenIssuer(identity: identity)].tooManyTokens(now: now())
        }
    }
}
