/// The private cluster could not be created, started or stopped.
package struct LocalPostgresError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. It tells the user what to do.
    package enum Code: String, Sendable, Hashable {
        /// This machine lacks PostgreSQL's programs, or the tools to run them as another user.
        case notInstalled
        /// Another major version than the installed one wrote the data.
        case wrongVersion
        /// Another process runs a cluster on this folder.
        case inUse
        /// The folder cannot be created, or belongs to another user.
        case unusableFolder
        /// A program of PostgreSQL failed; the message contains the end of its log.
        case failed
        /// The server did not start or stop in time.
        case timedOut
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
