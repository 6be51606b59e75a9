/// The private cluster could not be made, started or stopped.
package struct LocalPostgresError: Error, Sendable, CustomStringConvertible {
    /// What is wrong, and so what to do.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String, Sendable { case notInstalled, wrongVersion, inUse, unusableFolder, failed, timedOut }
        private let kind: Kind

        /// PostgreSQL's programs, or what is needed to run them as another user, are not on this machine.
        package static let notInstalled = Code(kind: .notInstalled)
        /// The data were written by another major version than the one that is installed.
        package static let wrongVersion = Code(kind: .wrongVersion)
        /// Another process runs a cluster on this folder.
        package static let inUse = Code(kind: .inUse)
        /// The folder cannot be made, or belongs to somebody else.
        package static let unusableFolder = Code(kind: .unusableFolder)
        /// A program of PostgreSQL ended with an error; the message has the end of its log.
        package static let failed = Code(kind: .failed)
        /// The server was not ready, or not gone, in time.
        package static let timedOut = Code(kind: .timedOut)

        package var description: String { kind.rawValue }
    }

    package let code: Code
    /// For the person at the terminal.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
