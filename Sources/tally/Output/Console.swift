import Foundation

/// The two streams of the process.
enum Console {
    /// Answers.
    static func print(_ text: String) {
        write(text + "\n", to: .standardOutput)
    }

    /// Words about what is going on, and errors.
    static func printError(_ text: String) {
        write(text + "\n", to: .standardError)
    }

    /// Text without a line's end, for what is overwritten.
    static func writeError(_ text: String) {
        write(text, to: .standardError)
    }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    private static func write(_ text: String, to handle: FileHandle) {
        // A reader that went away (`| head`) is no reason to fail.
        try? handle.write(contentsOf: Data(text.utf8))
    }
}
