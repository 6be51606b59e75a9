package import JSON

/// Why an import failed. The author must change the source or supply a schema.
package struct SwiftImportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of reported problems.
    package static let maximumProblems = 20

    /// One reason for the failure.
    package struct Problem: Sendable, Hashable {
        /// The location in the sources; `nil` if the problem concerns all of them.
        package let place: SourcePlace?
        /// The location in the supplied schemas, with the type name as first token; `nil` if the problem is in the
        /// sources.
        package let supplied: JSONPointer?
        /// A message for the author of the source.
        package let message: String

        /// Creates a problem.
        package init(place: SourcePlace?, supplied: JSONPointer? = nil, message: String) {
            self.place = place
            self.supplied = supplied
            self.message = message
        }

        /// Location and message in one line, as the compiler writes them.
        package var line: String { place.map { "\($0): \(message)" } ?? message }
    }

    /// At least one, in order of discovery, at most ``maximumProblems``.
    package let problems: [Problem]

    /// An error from its problems; at least one.
    package init(_ problems: [Problem]) { self.problems = problems }

    /// An error with a single problem.
    package init(_ message: String, at place: SourcePlace? = nil) {
        problems = [Problem(place: place, message: message)]
    }

    /// One line for each problem. Sources are not secret.
    package var description: String { problems.map(\.line).joined(separator: "\n") }
}
