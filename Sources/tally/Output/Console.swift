import Foundation

/// The two streams of the process.
enum Console {
    /// Answers. What others chose the words of cannot act on the terminal; our own colours can.
    static func print(_ text: String) {
        write(Style.printable(text) + "\n", to: .standardOutput)
    }

    /// Words about what is going on, and errors, in the same way.
    static func printError(_ text: String) {
        write(Style.printable(text) + "\n", to: .standardError)
    }

    /// Text without a line's end, for what is overwritten.
    static func writeError(_ text: String) {
        write(text, to: .standardError)
    }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The columns of the terminal; nil where the output goes elsewhere, which has room for everything.
    static var outputWidth: Int? {
        guard outputIsTerminal else { return nil }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    private static func write(_ text: String, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: Data(text.utf8))
        } catch CocoaError.fileWriteOutOfSpace where handle === FileHandle.standardOutput {
            // An answer may hold what is told once, such as a key's secret: nobody may take it for written.
            printError("tally: disk_full: the answer could not be written, for lack of space")
            exit(EXIT_FAILURE)
        } catch {
            // A reader that went away (`| head`) is no reason to fail.
        }
    }
}
