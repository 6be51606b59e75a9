import ArgumentParser
import Foundation

/// Answers beforehand what a command would ask.
struct ConfirmationOption: ParsableArguments {
    @Flag(help: "Do not ask for the id once more.") var yes = false
}

/// Has a person say once more what cannot be taken back. Where nobody sits at a terminal, nothing is asked.
struct Confirmation {
    var isTerminal = isatty(STDIN_FILENO) == 1
    /// Shows a question, without a line's end.
    var ask: (String) -> Void = { Console.writeError($0) }
    /// The line that was typed; nil at the end of the input.
    var answer: () -> String? = { readLine() }

    /// Asks for `id` once more, after saying what happens to it.
    ///
    /// - Throws: ``UsageError`` unless that very id is the answer.
    func require(_ id: String, of what: String, given option: ConfirmationOption) throws(UsageError) {
        guard isTerminal, !option.yes else { return }
        ask("This deletes \(what), for good. Its id once more: ")
        guard answer() == id else { throw UsageError("That is not '\(id)'; nothing was done.") }
    }
}
