/// The importer gave no answer.
package struct SwiftImporterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and so what to do.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case missing, busy, exhausted, failed }
        private let kind: Kind

        /// The program is not installed.
        package static let missing = Code(kind: .missing)
        /// As many as may run already; may be tried again soon.
        package static let busy = Code(kind: .busy)
        /// The source cost more time, memory or stack than is granted, and would again.
        package static let exhausted = Code(kind: .exhausted)
        /// The program could not be run, or does not do what it should.
        package static let failed = Code(kind: .failed)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// For operators; holds nothing of the source.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
