package import ActivityModel
package import Cryptography

/// Who signs: a team and one of its keys. A connection to Apple serves one of these only.
package struct SigningIdentity: Sendable, Hashable {
    package let teamID: TeamID
    package let keyID: KeyID
    package let privateKey: P256PrivateKey

    /// An identity.
    package init(teamID: TeamID, keyID: KeyID, privateKey: P256PrivateKey) {
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = privateKey
    }

    /// Hashes team and key id only; two keys under one id are rare, and told apart by equality.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(teamID)
        hasher.combine(keyID)
    }
}

extension SigningIdentity: CustomStringConvertible {
    /// Team and key id; neither is secret.
    package var description: String { "team \(teamID) key \(keyID)" }
}
