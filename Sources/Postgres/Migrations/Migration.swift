import Cryptography

/// One numbered step of the schema, from its SQL file.
///
/// The file begins with two comments. `-- version: 3` is the schema version after it. `-- compatible_from: 2` is the
/// oldest version whose programs can work with that schema.
package struct Migration: Sendable, Hashable {
    /// The number, from 1 and without gaps; it is the order of application.
    package let number: Int
    package let name: String
    package let version: Int
    package let compatibleFrom: Int
    /// The text of the file.
    package let sql: String
    /// SHA-256 of the file's bytes.
    package let checksum: [UInt8]

    /// Reads the two comments.
    ///
    /// - Throws: ``MigrationError/Code/malformed`` if Tally's own file is wrong.
    package init(number: Int, name: String, sql bytes: [UInt8]) throws(MigrationError) {
        guard let sql = String(validating: bytes, as: UTF8.self) else {
            throw MigrationError(.malformed, "migration \(number) (\(name)) is not UTF-8")
        }
        let header = sql.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("--") }
        guard let version = Self.value(of: "version", in: header),
            let compatibleFrom = Self.value(of: "compatible_from", in: header),
            (1...version).contains(compatibleFrom)
        else {
            throw MigrationError(
                .malformed,
                "migration \(number) (\(name)) does not begin with `-- version: n` and `-- compatible_from: n`"
            )
        }
        self.number = number
        self.name = name
        self.version = version
        self.compatibleFrom = compatibleFrom
        self.sql = sql
        checksum = SHA256.hash(bytes)
    }

    private static func value(of key: String, in header: some Sequence<Substring>) -> Int? {
        let prefix = "-- \(key):"
        guard let line = header.first(where: { $0.hasPrefix(prefix) }) else { return nil }
        guard let value = Int(line.dropFirst(prefix.count).filter { !$0.isWhitespace }), value > 0 else { return nil }
        return value
    }
}
