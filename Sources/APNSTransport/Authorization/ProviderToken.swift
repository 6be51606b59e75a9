package import ActivityModel
package import Cryptography

/// A signed provider token (JSON Web Token, ES256), as the `authorization` field carries it.
package struct ProviderToken: Sendable, Hashable {
    /// The three parts of the token. Secret.
    package let text: String
    /// Its `iat`.
    package let issuedAt: Timestamp

    /// One that was signed before.
    package init(text: String, issuedAt: Timestamp) {
        self.text = text
        self.issuedAt = issuedAt
    }

    /// Signs a new one.
    ///
    /// `iat` is a number: Apple's answer to one in quotes is undocumented. The signature is the 64 raw bytes of JOSE.
    package static func sign(_ identity: SigningIdentity, at now: Timestamp) throws(CryptographyError) -> ProviderToken
    {
        // Both ids have ten characters out of A–Z and 0–9, so there is nothing to escape.
        let header = #"{"alg":"ES256","kid":"\#(identity.keyID.rawValue)"}"#
        let claims = #"{"iss":"\#(identity.teamID.rawValue)","iat":\#(now)}"#
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        let signature = try identity.privateKey.signature(for: Array(signed.utf8))
        return ProviderToken(text: signed + "." + Base64URL.encode(signature), issuedAt: now)
    }

    /// The value of the `authorization` field. Secret.
    package var authorization: String { "bearer " + text }
}

extension ProviderToken: CustomStringConvertible, CustomReflectable {
    /// Never the text.
    package var description: String { "provider token of \(issuedAt)" }

    /// Shows nothing but the time.
    package var customMirror: Mirror { Mirror(self, children: ["issuedAt": issuedAt]) }
}
