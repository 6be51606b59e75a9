import Cryptography
import JSON

/// The signing keys that Apple knows, and what it makes of an `authorization` header.
struct KeyRing {
    private struct Registered {
        var publicKey: P256PublicKey
        var scope: KeyScope
    }

    private var keys: [String: Registered] = [:]
    private var revoked: Set<String> = []
    /// True: a key that is not registered is as good as none. False: its signature is just not checked.
    private let refusesUnknownKeys: Bool
    /// What was made of the last headers. One shared token serves thousands of requests.
    private var recent: [(text: String, credential: Credential)] = []

    init(refusesUnknownKeys: Bool) {
        self.refusesUnknownKeys = refusesUnknownKeys
    }

    mutating func register(keyID: String, publicKey: P256PublicKey, scope: KeyScope) {
        keys[keyID] = Registered(publicKey: publicKey, scope: scope)
        revoked.remove(keyID)
        recent.removeAll()
    }

    /// Revokes a key: what it signs is an invalid token from now on, also where unknown keys are believed.
    mutating func revoke(keyID: String) {
        keys[keyID] = nil
        revoked.insert(keyID)
        recent.removeAll()
    }

    /// Reads a header into the memory that ``credential(_:)`` looks into.
    ///
    /// - Returns: What is loose about a token that was not in that memory.
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

    /// What an `authorization` header is worth.
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
        var token = ProviderToken(
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

    /// Whole seconds, and how they were written if not so.
    private func issuedAt(_ claim: JSONValue) -> (seconds: Int64, form: LooseIssuedAt?)? {
        if let seconds = claim.int64 { return (seconds, nil) }
        let number = claim.number ?? claim.string.flatMap { JSONNumber(digits: $0) }
        guard let seconds = number?.double.flatMap({ Int64(exactly: $0.rounded(.down)) }) else { return nil }
        return (seconds, claim.string == nil ? .fraction : .text)
    }

    private func claims(_ part: String) -> JSONObject? {
        // Whatever is wrong with a part, the token is malformed.
        Base64URL.decode(part).flatMap { try? JSONValue.parse($0) }?.object
    }
}
