package import ActivityModel
package import Cryptography

/// Contains the provider token of one identity and signs a new one when it is due. Token stores use it.
///
/// Apple accepts a token for an hour and requires a new one at least that often. It answers 429
/// `TooManyProviderTokenUpdates` to new ones more often than every 20 minutes ("Establishing a token-based connection
/// to APNs"). The caller passes the time.
package struct ProviderTokenIssuer: Sendable {
    /// The age, in seconds, at which a token is replaced. It is well below Apple's hour, to allow for clock
    /// differences.
    package static let refreshAge: Int64 = 50 * 60
    /// The minimum time between two tokens, in seconds.
    package static let minimumAge: Int64 = 20 * 60
    /// The age, in seconds, above which Apple refuses a token, so a new one costs nothing.
    package static let maximumAge: Int64 = 60 * 60

    /// The identity that signs the tokens.
    package let identity: SigningIdentity
    /// The current token; `nil` before the first.
    package private(set) var current: ProviderToken?
    /// Until when no new token is signed, because Apple complained of too many.
    package private(set) var keptUntil: Timestamp?

    /// A stored issuer; a new one has no token.
    package init(identity: SigningIdentity, current: ProviderToken? = nil, keptUntil: Timestamp? = nil) {
        self.identity = identity
        self.current = current
        self.keptUntil = keptUntil
    }

    /// Answers a sender; see ``ProviderTokenStore/token(for:replacing:)``.
    package mutating func issue(
        replacing expired: ProviderToken?,
        now: Timestamp
    ) throws(CryptographyError) -> IssuedProviderToken {
        // Another sender may already have caused its replacement.
        if let expired, expired == current {
            _ = try tokenExpired(now: now)
        }
        let token = try token(now: now)
        return IssuedProviderToken(token, age: max(0, now - token.issuedAt))
    }

    /// The current token, renewed if it is due.
    package mutating func token(now: Timestamp) throws(CryptographyError) -> ProviderToken {
        if let current, !isDue(current, now: now) {
            return current
        }
        return try renew(now: now)
    }

    /// Handles Apple's answer that the current token is expired: signs a new one if that is allowed. Returns whether it
    /// did.
    ///
    /// If a token younger than 20 minutes is expired, a clock is wrong, and a new token would not help.
    package mutating func tokenExpired(now: Timestamp) throws(CryptographyError) -> Bool {
        guard let current, !isYoung(current, now: now) else {
            return false
        }
        _ = try renew(now: now)
        return true
    }

    /// Handles Apple's complaint of too many new tokens: the current one stays for another 20 minutes, unless it
    /// expires before.
    package mutating func tooManyTokens(now: Timestamp) {
        keptUntil = now + Self.minimumAge
    }

    private mutating func renew(now: Timestamp) throws(CryptographyError) -> ProviderToken {
        let token = try ProviderToken.sign(identity, at: now)
        current = token
        keptUntil = nil
        return token
    }

    private func isDue(_ token: ProviderToken, now: Timestamp) -> Bool {
        let age = now - token.issuedAt
        if age >= Self.maximumAge {
            return true
        }
        // A token from the future: the clock was set back. Within an hour Apple accepts it.
        if age <= -Self.refreshAge {
            return true
        }
        if let keptUntil, now < keptUntil {
            return false
        }
        return age >= Self.refreshAge
    }

    private func isYoung(_ token: ProviderToken, now: Timestamp) -> Bool {
        if let keptUntil, now < keptUntil {
            return true
        }
        let age = now - token.issuedAt
        return (-Self.minimumAge..<Self.minimumAge).contains(age)
    }
}
