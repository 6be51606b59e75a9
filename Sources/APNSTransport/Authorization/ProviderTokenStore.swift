internal import Synchronization
package import ActivityModel

/// The source of provider tokens, shared by all senders with the same key.
///
/// Apple wants one token at a time for a team and key, across all senders. The transport caches tokens and decides when
/// to ask the store again.
package protocol ProviderTokenStore: Sendable {
    /// The token to send with now; the store renews it if it is due.
    ///
    /// `expired` is a token that Apple called expired, so the caller wants another. The store returns the same one if a
    /// new one would be too early. It throws `CryptographyError` if the key cannot sign, and any other error if the
    /// store is unavailable. The call is cancelled at the deadline of the request.
    func token(for identity: SigningIdentity, replacing expired: ProviderToken?) async throws -> IssuedProviderToken

    /// Records Apple's complaint of too many new tokens, so that the current one stays.
    func tooManyTokens(for identity: SigningIdentity) async throws
}

/// A token and its age, by the same clock that set its `iat`.
package struct IssuedProviderToken: Sendable, Hashable {
    package let token: ProviderToken
    /// Seconds since it was issued.
    package let age: Int64

    /// Creates an issued token.
    package init(_ token: ProviderToken, age: Int64) {
        self.token = token
        self.age = age
    }
}

/// A store in memory, for a process that shares its keys with no other.
package final class LocalProviderTokens: ProviderTokenStore {
    private let issuers = Mutex<[SigningIdentity: ProviderTokenIssuer]>([:])
    private let now: @Sendable () -> Timestamp

    /// A store with a wall clock in UNIX seconds.
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
