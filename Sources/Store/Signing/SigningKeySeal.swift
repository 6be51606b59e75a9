package import ActivityModel
package import Cryptography

/// How signing keys lie in the database: sealed under the master key, and good for their app and environment only.
package enum SigningKeySeal {
    /// Seals the PEM text of a key.
    package static func seal(
        _ pem: String,
        app: BundleID,
        environment: APNSEnvironment,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> [UInt8] {
        try masterKeys.seal(Array(pem.utf8), authenticating: context(app, environment))
    }

    /// Opens what ``seal(_:app:environment:masterKeys:)`` made.
    ///
    /// - Throws: `authenticationFailed` for another master key, app or environment; `invalidKey` if no P-256 key was
    ///   sealed.
    package static func open(
        _ sealed: [UInt8],
        app: BundleID,
        environment: APNSEnvironment,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> P256PrivateKey {
        let pem = try masterKeys.open(sealed, authenticating: context(app, environment))
        return try P256PrivateKey(pem: String(decoding: pem, as: UTF8.self))
    }

    /// Authenticated with the key, so that a row that was copied elsewhere does not open.
    static func context(_ app: BundleID, _ environment: APNSEnvironment) -> [UInt8] {
        Array("signing-key/\(app.rawValue)/\(environment.rawValue)".utf8)
    }
}
