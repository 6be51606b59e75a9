internal import ActivityModel
internal import Cryptography

/// The provider token of one identity, shared by all its connections in all places. Belongs to the transport's loop.
final class TokenSource {
    private var issuer: ProviderTokenIssuer
    private let now: @Sendable () -> Timestamp

    init(identity: SigningIdentity, now: @escaping @Sendable () -> Timestamp) {
        issuer = ProviderTokenIssuer(identity: identity)
        self.now = now
    }

    /// The token to send with now, and its generation modulo 256.
    func token() throws(CryptographyError) -> (token: ProviderToken, generation: UInt8) {
        let token = try issuer.token(now: now())
        return (token, generation)
    }

    /// Apple called a token of `generation` expired. Whether there is a newer one to try with.
    func expired(generation: UInt8) throws(CryptographyError) -> Bool {
        guard generation == self.generation else {
            return true
        }
        return try issuer.tokenExpired(now: now())
    }

    /// Apple complained of too many new tokens.
    func tooManyTokens() {
        issuer.tooManyTokens(now: now())
    }

    private var generation: UInt8 { UInt8(truncatingIfNeeded: issuer.generation) }
}
