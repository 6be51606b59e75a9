import ArgumentParser
import Foundation

/// Confirms a deletion in advance.
struct ConfirmationOption: ParsableArguments {
    @Flag(help: "Do not ask for the id again. Without a terminal, the command asks nothing.") var yes = false
}

/// Asks a person to confirm an irreversible command. Asks nothing if the input is not a terminal.
struct Confirmation {
    var isTerminal = isatty(STDIN_FILENO) == 1
    /// Shows a question, without a line end.
    var ask: (String) -> Void = { Terminal.writeError($0) }
    /// The typed line; nil at the end of the input.
    var answer: () -> String? = { readLine() }

    /// Explains the command and asks for `id` again.
    ///
    /// - Throws: ``UsageError`` unless the answer is exactly that id.
    func require(_ id: String, of what: String, given option: ConfirmationOption) throws(UsageError) {
        guard isTerminal, !option.yes else { return }
        ask("This deletes \(what), for good. Its id once more: ")
        guard answer() == id else { throw UsageError("That is not '\(id)'; nothing was done.") }
    }

    /// Asks a question.
    ///
    /// - Throws: ``UsageError`` unless the answer is yes.
    func agree(_ question: String, given yes: Bool) throws(UsageError) {
        guard isTerminal, !yes else { return }
        ask(question)
        let answer = answer()?.lowercased()
        guard answer == "y" || answer == "yes" else { throw UsageError("Nothing was done.") }
    }
}
