import APNSTransport
import ActivityModel
import Cryptography

/// How provider tokens lie in the database: sealed under the master key, and good for their team and key only.
enum ProviderTokenSeal {
    static func seal(
        _ token: ProviderToken,
        of identity: SigningIdentity,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> [UInt8] {
        try masterKeys.seal(Array(token.text.utf8), authenticating: context(identity.teamID, identity.keyID))
    }

    /// Opens what ``seal(_:of:masterKeys:)`` made.
    ///
    /// - Throws: `authenticationFailed` for another master key, team or key.
    static func open(
        _ sealed: [UInt8],
        issuedAt: Timestamp,
        of identity: SigningIdentity,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> ProviderToken {
        let text = try masterKeys.open(sealed, authenticating: context(identity.teamID, identity.keyID))
        return ProviderToken(text: String(decoding: text, as: UTF8.self), issuedAt: issuedAt)
    }

    /// Authenticated with the token.
    static func context(_ teamID: TeamID, _ keyID: KeyID) -> [UInt8] {
        Array("provider-token/\(teamID.rawValue)/\(keyID.rawValue)".utf8)
    }
}
