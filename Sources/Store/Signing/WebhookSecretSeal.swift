package import ActivityModel
package import Cryptography

/// How the secrets of webhooks lie in the database: sealed under the master key, and good for their app and id only.
package enum WebhookSecretSeal {
    package static func seal(
        _ secret: [UInt8],
        app: BundleID,
        id: WebhookID,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> [UInt8] {
        try masterKeys.seal(secret, authenticating: context(app, id))
    }

    /// Opens what ``seal(_:app:id:masterKeys:)`` made.
    ///
    /// - Throws: `authenticationFailed` for another master key, app or id.
    package static func open(
        _ sealed: [UInt8],
        app: BundleID,
        id: WebhookID,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> [UInt8] {
        try masterKeys.open(sealed, authenticating: context(app, id))
    }

    static func context(_ app: BundleID, _ id: WebhookID) -> [UInt8] {
        Array("webhook/\(app.rawValue)/\(id.rawValue)".utf8)
    }
}
