/// A word of an enum type in the database that this program does not know: the database is newer than it claims.
package struct UnknownStoredWord: Error, CustomStringConvertible {
    let type: String
    let word: String

    package var description: String { "the database holds '\(word)', which is no \(type) that this program knows" }
}

extension RawRepresentable where RawValue == String {
    /// The case for a word that came out of the database.
    package static func stored(_ word: String) throws(UnknownStoredWord) -> Self {
        guard let value = Self(rawValue: word) else {
            throw UnknownStoredWord(type: "\(Self.self)", word: word)
        }
        return value
    }
}
