package import ActivityModel
package import Cryptography

/// How a secret lies in the database: sealed under the master key, and good for its own row only.
package struct SecretSeal: Sendable {
    /// Authenticated with the secret, so that a row that was copied elsewhere does not open.
    let context: [UInt8]

    private init(_ context: String) { self.context = Array(context.utf8) }

    /// For the PEM text of a signing key.
    package static func signingKey(_ app: BundleID, _ environment: APNSEnvironment) -> SecretSeal {
        SecretSeal("signing-key/\(app.rawValue)/\(environment.rawValue)")
    }

    /// For a provider token.
    static func providerToken(_ team: TeamID, _ key: KeyID) -> SecretSeal {
        SecretSeal("provider-token/\(team.rawValue)/\(key.rawValue)")
    }

    /// For a ticket key; `id` is a UUID in lower case. Public keys are sealed as well: whoever can write to the database
    /// alone cannot put a key of their own there.
    package static func ticketKey(_ app: BundleID, _ id: String) -> SecretSeal {
        SecretSeal("ticket-key/\(app.rawValue)/\(id)")
    }

    /// For the secret of a webhook.
    package static func webhook(_ app: BundleID, _ id: WebhookID) -> SecretSeal {
        SecretSeal("webhook/\(app.rawValue)/\(id.rawValue)")
    }

    /// - Throws: ``CryptographyError``.
    package func seal(_ secret: [UInt8], under keys: MasterKeys) throws(CryptographyError) -> [UInt8] {
        try keys.seal(secret, authenticating: context)
    }

    /// Opens what ``seal(_:under:)`` made.
    ///
    /// - Throws: `authenticationFailed` for another master key or another row.
    package func open(_ sealed: [UInt8], under keys: MasterKeys) throws(CryptographyError) -> [UInt8] {
        try keys.open(sealed, authenticating: context)
    }

    /// Opens a signing key.
    ///
    /// - Throws: as ``open(_:under:)``, and `invalidKey` if no P-256 key was sealed.
    package func openKey(_ sealed: [UInt8], under keys: MasterKeys) throws(CryptographyError) -> P256PrivateKey {
        try P256PrivateKey(pem: String(decoding: open(sealed, under: keys), as: UTF8.self))
    }
}
