package import ActivityModel
package import Cryptography

/// Holds the provider token of one identity and makes a new one when it is time.
///
/// Apple takes a token for an hour, wants a new one at least that often, and answers 429 `TooManyProviderTokenUpdates`
/// to new ones more often than every 20 minutes ("Establishing a token-based connection to APNs"). The clock is the
/// caller's.
package struct ProviderTokenIssuer: Sendable {
    /// The age, in seconds, at which a token is replaced: well before Apple's hour, whatever the clocks differ by.
    package static let refreshAge: Int64 = 50 * 60
    /// The least time, in seconds, between two tokens.
    package static let minimumAge: Int64 = 20 * 60
    /// Beyond this age, in seconds, Apple takes it no more, and nothing is lost by making a new one.
    package static let maximumAge: Int64 = 60 * 60

    /// Whose tokens these are.
    package let identity: SigningIdentity
    /// The token in use; nil before the first.
    package private(set) var current: ProviderToken?
    /// Until when no new token is made because Apple complained of too many.
    package private(set) var keptUntil: Timestamp?

    /// An issuer as it was left; without a token if it is new.
    package init(identity: SigningIdentity, current: ProviderToken? = nil, keptUntil: Timestamp? = nil) {
        self.identity = identity
        self.current = current
        self.keptUntil = keptUntil
    }

    /// Answers a sender: as ``ProviderTokenStore/token(for:replacing:)``.
    package mutating func issue(
        replacing expired: ProviderToken?,
        now: Timestamp
    ) throws(CryptographyError) -> IssuedProviderToken {
        // Another sender may have had it replaced already.
        if let expired, expired == current {
            _ = try tokenExpired(now: now)
        }
        let token = try token(now: now)
        return IssuedProviderToken(token, age: max(0, now - token.issuedAt))
    }

    /// The token to send with now.
    package mutating func token(now: Timestamp) throws(CryptographyError) -> ProviderToken {
        if let current, !isDue(current, now: now) {
            return current
        }
        return try renew(now: now)
    }

    /// Apple called the current token expired: makes a new one if that is allowed. Whether there is a new one.
    ///
    /// A token that is younger than 20 minutes and yet expired means that a clock is wrong, which a new one would not
    /// mend.
    package mutating func tokenExpired(now: Timestamp) throws(CryptographyError) -> Bool {
        guard let current, !isYoung(current, now: now) else {
            return false
        }
        _ = try renew(now: now)
        return true
    }

    /// Apple complained of too many new tokens: the present one stays for 20 minutes more, if it lives so long.
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
        // A token out of the future: the clock was set back. Within the hour Apple takes it all the same.
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
