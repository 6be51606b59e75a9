package import ActivityModel
package import Cryptography

/// A signed provider token (JSON Web Token, ES256), as the `authorization` field carries it.
package struct ProviderToken: Sendable, Hashable {
    /// The three parts of the token. They are secret.
    package let text: String
    /// Its `iat`.
    package let issuedAt: Timestamp

    /// A token that was signed before.
    package init(text: String, issuedAt: Timestamp) {
        self.text = text
        self.issuedAt = issuedAt
    }

    /// Signs a new token.
    ///
    /// `iat` is a number, because Apple's handling of a quoted one is undocumented. The signature is the 64 raw bytes
    /// of JOSE.
    package static func sign(_ identity: SigningIdentity, at now: Timestamp) throws(CryptographyError) -> ProviderToken
    {
        // Both ids have ten characters from A–Z and 0–9, so nothing needs escaping.
        let header = #"{"alg":"ES256","kid":"\#(identity.keyID.rawValue)"}"#
        let claims = #"{"iss":"\#(identity.teamID.rawValue)","iat":\#(now)}"#
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        let signature = try identity.privateKey.signature(for: Array(signed.utf8))
        return ProviderToken(text: signed + "." + Base64URL.encode(signature), issuedAt: now)
    }

    /// The value of the `authorization` field. It is secret.
    package var authorization: String { "bearer " + text }
}

extension ProviderToken: CustomStringConvertible, CustomReflectable {
    /// Never shows the text.
    package var description: String { "provider token of \(issuedAt)" }

    /// Shows only the time.
    package var customMirror: Mirror { Mirror(self, children: ["issuedAt": issuedAt]) }
}
