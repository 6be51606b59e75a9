/// The import failed without an answer.
package struct SwiftImporterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error, which decides what to do.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case missing, busy, exhausted, failed }
        private let kind: Kind

        /// The program is not installed.
        package static let missing = Code(kind: .missing)
        /// Too many imports run now. Try again soon.
        package static let busy = Code(kind: .busy)
        /// The source needs more time, memory or stack than allowed. A retry would fail, too.
        package static let exhausted = Code(kind: .exhausted)
        /// The program cannot run, or gave an invalid answer.
        package static let failed = Code(kind: .failed)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// A text for operators. It contains nothing of the source.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
