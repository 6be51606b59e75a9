package import JSON

/// Why no schemas could be made. Nothing but another source, or a supplied schema, helps.
package struct SwiftImportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The most problems that are reported.
    package static let maximumProblems = 20

    /// One thing that stands in the way.
    package struct Problem: Sendable, Hashable {
        /// Where it is; nil for what concerns all sources.
        package let place: SourcePlace?
        /// Where it is in the supplied schemas, the name of the type first; nil for what concerns the sources.
        package let supplied: JSONPointer?
        /// A sentence for the author of the source.
        package let message: String

        /// One problem.
        package init(place: SourcePlace?, supplied: JSONPointer? = nil, message: String) {
            self.place = place
            self.supplied = supplied
            self.message = message
        }

        /// Place and message in one line, as the compiler writes them.
        package var line: String { place.map { "\($0): \(message)" } ?? message }
    }

    /// At least one, in order of discovery, at most ``maximumProblems``.
    package let problems: [Problem]

    /// What was found, at least one.
    package init(_ problems: [Problem]) { self.problems = problems }

    /// One problem.
    package init(_ message: String, at place: SourcePlace? = nil) {
        problems = [Problem(place: place, message: message)]
    }

    /// One line for each problem. Sources are no secret.
    package var description: String { problems.map(\.line).joined(separator: "\n") }
}
