import Cryptography
import JSON

/// The registered signing keys. Checks `authorization` headers.
struct KeyRing {
    private struct Registered {
        var publicKey: P256PublicKey
        var scope: KeyScope
    }

    private var keys: [String: Registered] = [:]
    private var revoked: Set<String> = []
    /// If true, an unregistered key is invalid. If false, its signature is not checked.
    private let refusesUnknownKeys: Bool
    /// The last results, because thousands of requests share one provider token.
    private var recent: [(text: String, credential: Credential)] = []

    init(refusesUnknownKeys: Bool) {
        self.refusesUnknownKeys = refusesUnknownKeys
    }

    mutating func register(keyID: String, publicKey: P256PublicKey, scope: KeyScope) {
        keys[keyID] = Registered(publicKey: publicKey, scope: scope)
        revoked.remove(keyID)
        recent.removeAll()
    }

    /// Revokes a key. Its tokens are invalid from now on, even if unregistered keys are accepted.
    mutating func revoke(keyID: String) {
        keys[keyID] = nil
        revoked.insert(keyID)
        recent.removeAll()
    }

    /// Parses a header and caches the result for ``credential(_:)``.
    ///
    /// - Returns: The unusual form of a token that was not in the cache.
    mutating func prepare(_ authorization: String?) -> LooseIssuedAt? {
        guard let authorization, !recent.contains(where: { $0.text == authorization }) else { return nil }
        if recent.count >= 16 {
            recent.removeFirst()
        }
        let credential = read(authorization)
        recent.append((authorization, credential))
        guard case .token(let token) = credential else { return nil }
        return token.looseForm
    }

    /// The parsed credential of an `authorization` header.
    func credential(_ authorization: String?) -> Credential {
        guard let authorization else { return .missing }
        return recent.last { $0.text == authorization }?.credential ?? read(authorization)
    }

    /// Apple, Establishing a token-based connection to APNs: `bearer` and a JWT, ES256, with `kid`, `iss` and `iat`.
    private func read(_ text: String) -> Credential {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .malformed }
        let parts = words[1].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = claims(parts[0]), let claims = claims(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string, keyID.utf8.count == 10,
            let teamID = claims["iss"]?.string, teamID.utf8.count == 10,
            let (issuedAt, looseForm) = claims["iat"].flatMap(issuedAt)
        else { return .malformed }
        var token = ReceivedProviderToken(
            keyID: keyID,
            teamID: teamID,
            issuedAt: issuedAt,
            looseForm: looseForm,
            signature: .unchecked
        )
        if let key = keys[keyID] {
            let isValid = key.publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
            token.signature = isValid ? .valid : .invalid
            token.key = key.scope
        } else if refusesUnknownKeys || revoked.contains(keyID) {
            token.signature = .invalid
        }
        return .token(token)
    }

    /// The time in whole seconds, and its unusual form, if any.
    private func issuedAt(_ claim: JSONValue) -> (seconds: Int64, form: LooseIssuedAt?)? {
        if let seconds = claim.int64 { return (seconds, nil) }
        let number = claim.number ?? claim.string.flatMap { JSONNumber(digits: $0) }
        guard let seconds = number?.double.flatMap({ Int64(exactly: $0.rounded(.down)) }) else { return nil }
        return (seconds, claim.string == nil ? .fraction : .text)
    }

    private func claims(_ part: String) -> JSONObject? {
        // Any error makes the token malformed.
        Base64URL.decode(part).flatMap { try? JSONValue.parse($0) }?.object
    }
}
