package import ActivityModel
package import Cryptography

/// How ticket keys lie in the database: sealed under the master key, and good for their app and id only.
///
/// Public keys are sealed as well. Whoever can write to the database alone cannot put a key of their own there.
package enum TicketKeySeal {
    package static func seal(
        _ key: [UInt8],
        app: BundleID,
        id: String,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> [UInt8] {
        try masterKeys.seal(key, authenticating: context(app, id))
    }

    /// Opens what ``seal(_:app:id:masterKeys:)`` made.
    ///
    /// - Throws: `authenticationFailed` for another master key, app or id.
    package static func open(
        _ sealed: [UInt8],
        app: BundleID,
        id: String,
        masterKeys: MasterKeys
    ) throws(CryptographyError) -> [UInt8] {
        try masterKeys.open(sealed, authenticating: context(app, id))
    }

    /// `id` is a UUID in lower case.
    static func context(_ app: BundleID, _ id: String) -> [UInt8] {
        Array("ticket-key/\(app.rawValue)/\(id)".utf8)
    }
}
