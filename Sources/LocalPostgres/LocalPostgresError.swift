/// The private cluster could not be created, started or stopped.
package struct LocalPostgresError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. It tells the user what to do.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case notInstalled, wrongVersion, inUse, unusableFolder, failed, timedOut }
        private let kind: Kind

        /// This machine lacks PostgreSQL's programs, or the tools to run them as another user.
        package static let notInstalled = Code(kind: .notInstalled)
        /// Another major version than the installed one wrote the data.
        package static let wrongVersion = Code(kind: .wrongVersion)
        /// Another process runs a cluster on this folder.
        package static let inUse = Code(kind: .inUse)
        /// The folder cannot be created, or belongs to another user.
        package static let unusableFolder = Code(kind: .unusableFolder)
        /// A program of PostgreSQL failed; the message contains the end of its log.
        package static let failed = Code(kind: .failed)
        /// The server did not start or stop in time.
        package static let timedOut = Code(kind: .timedOut)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// For the user at the terminal.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
