package import ActivityModel
package import Cryptography

/// A team and one of its signing keys. A connection to Apple serves only one identity.
package struct SigningIdentity: Sendable, Hashable {
    package let teamID: TeamID
    package let keyID: KeyID
    package let privateKey: P256PrivateKey

    /// Creates an identity.
    package init(teamID: TeamID, keyID: KeyID, privateKey: P256PrivateKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = privateKey
    }

    /// Hashes team and key id only. Two keys with the same id are rare, and equality distinguishes them.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(teamID)
        hasher.combine(keyID)
    }
}

extension SigningIdentity: CustomStringConvertible {
    /// Team and key id, which are not secret.
    package var description: String { "team \(teamID) key \(keyID)" }
}
