import Foundation

/// The two output streams of the process.
enum Terminal {
    /// Prints an answer. Escapes foreign text so that it cannot control the terminal; Tally's own colours work.
    static func print(_ text: String) {
        write(Style.printable(text) + "\n", to: .standardOutput)
    }

    /// Prints progress and errors, escaped in the same way.
    static func printError(_ text: String) {
        write(Style.printable(text) + "\n", to: .standardError)
    }

    /// Prints text without a line end, which later text overwrites.
    static func writeError(_ text: String) {
        write(text, to: .standardError)
    }

    /// Prints an error where the line of ``writeError(_:)`` stands.
    static func printErrorOverLine(_ text: String) {
        write(overLine(text) + "\n", to: .standardError)
    }

    /// Text that takes the place of the line at which the cursor stands, and of a longer old text there. The text alone is
    /// escaped.
    static func overLine(_ text: String) -> String { "\r\u{1B}[K" + Style.printable(text) }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The columns of the terminal. Nil if the output goes elsewhere, where the width is unlimited.
    static var outputWidth: Int? {
        guard outputIsTerminal else { return nil }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// The width of sentences: that of the terminal, but no wider than is easy to read.
    static var textWidth: Int { min(outputWidth ?? easyWidth, easyWidth) }

    static let easyWidth = 80

    private static func write(_ text: String, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch CocoaError.fileWriteOutOfSpace where handle === FileHandle.standardOutput {
            // The answer may be unrepeatable, such as a key's secret, so its loss must be an error.
            printError("tally: disk_full: the answer could not be written, for lack of space")
            exit(EXIT_FAILURE)
        } catch {
            // A reader that closes the pipe (`| head`) is not an error.
        }
    }
}
