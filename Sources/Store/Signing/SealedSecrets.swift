package import Postgres

/// The secrets that lie sealed in a table, for ``MasterKeyRotation``. The room that writes the table makes the value.
package struct SealedSecrets: Sendable {
    /// A secret as it was read.
    package struct Found: Sendable {
        /// The text of the two columns that name its row: `owner` is the app or the team.
        package let owner, id: String
        package let sealed: [UInt8]
    }

    let selection: Query
    let seal: @Sendable (_ owner: String, _ id: String) throws -> SecretSeal
    let update: @Sendable (Found, _ sealed: [UInt8]) -> Query

    /// - Parameters:
    ///   - selection: Reads all, as `owner`, `id` and secret.
    ///   - seal: The seal of a row.
    ///   - update: The statement that stores a secret under its new seal. It must leave the row alone if the secret was
    ///     replaced meanwhile: an operator may have done that.
    package init(
        selection: Query,
        seal: @escaping @Sendable (_ owner: String, _ id: String) throws -> SecretSeal,
        update: @escaping @Sendable (Found, _ sealed: [UInt8]) -> Query
    ) {
        self.selection = selection
        self.seal = seal
        self.update = update
    }
}
