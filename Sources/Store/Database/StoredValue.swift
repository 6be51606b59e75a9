package import APITypes
import JSON

/// A stored value that this program cannot read: the database is newer than it claims.
package struct UnreadableStoredValue: Error, CustomStringConvertible {
    let type: String
    let problem: Problem

    package var description: String { "the database holds a \(type) that this program cannot read: \(problem)" }
}

extension APIRequest {
    /// The value for JSON that came out of the database. No caller is to blame if it cannot be read.
    package static func stored(_ text: String) throws -> Self {
        do {
            return try Self(json: JSONValue(parsing: text))
        } catch let problem as Problem {
            throw UnreadableStoredValue(type: "\(Self.self)", problem: problem)
        }
    }
}
