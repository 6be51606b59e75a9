import ArgumentParser

/// Allows global options before the command, as `kubectl` and `git` do.
///
/// ArgumentParser accepts them only after the command's last word, so they are moved there.
enum GlobalOptionOrder {
    /// The options of ``GlobalOptions`` and ``AppOption`` that take a value.
    private static let options: Set = ["--url", "--key", "--profile", "--ca-file", "--app", "--output", "-o"]
    private static let flags: Set = ["--json"]

    /// Moves global options behind the command's words.
    static func behindCommand(_ words: [String], of root: any ParsableCommand.Type = TallyCommand.self) -> [String] {
        var command = root
        var names: [String] = []
        var moved: [String] = []
        var rest = words[...]
        while let word = rest.first {
            if let next = command.configuration.subcommands.first(where: { $0._commandName == word }) {
                command = next
                names.append(word)
                rest.removeFirst()
            } else if !command.configuration.subcommands.isEmpty, let count = length(of: word) {
                moved += rest.prefix(count)
                rest = rest.dropFirst(count)
            } else {
                break
            }
        }
        // Without a command, the words stay as they are, and ArgumentParser reports the missing command.
        return names.isEmpty ? words : names + moved + rest
    }

    /// The number of words of an option with its value; nil for any other word.
    private static func length(of word: String) -> Int? {
        if flags.contains(word) { return 1 }
        if options.contains(word) { return 2 }
        return options.contains { word.hasPrefix($0 + "=") } ? 1 : nil
    }
}
