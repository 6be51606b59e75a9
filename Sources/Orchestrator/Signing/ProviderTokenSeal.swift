import APNSTransport
import ActivityModel
import Cryptography

/// How provider tokens lie in the database: sealed under the master key, and good for their team and key only.
enum ProviderTokenSeal {
    static func seal(
        _ token: ProviderToken,
        of identity: SigningIdentity,
        masterKey: SymmetricKey
    ) throws(CryptographyError) -> [UInt8] {
        try AESGCM.seal(Array(token.text.utf8), key: masterKey, authenticating: context(identity))
    }

    /// Opens what ``seal(_:of:masterKey:)`` made.
    ///
    /// - Throws: `authenticationFailed` for another master key, team or key.
    static func open(
        _ sealed: [UInt8],
        issuedAt: Timestamp,
        of identity: SigningIdentity,
        masterKey: SymmetricKey
    ) throws(CryptographyError) -> ProviderToken {
        let text = try AESGCM.open(sealed, key: masterKey, authenticating: context(identity))
        return ProviderToken(text: String(decoding: text, as: UTF8.self), issuedAt: issuedAt)
    }

    private static func context(_ identity: SigningIdentity) -> [UInt8] {
        Array("provider-token/\(identity.teamID.rawValue)/\(identity.keyID.rawValue)".utf8)
    }
}
