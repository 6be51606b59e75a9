/// The import failed without an answer.
package struct SwiftImporterError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error, which decides what to do.
    package enum Code: String, Sendable, Hashable {
        /// The program is not installed.
        case missing
        /// Too many imports run now. Try again soon.
        case busy
        /// The source needs more time, memory or stack than allowed. A retry would fail, too.
        case exhausted
        /// The program cannot run, or gave an invalid answer.
        case failed
    }

    package let code: Code
    /// A text for operators. It contains nothing of the source.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
