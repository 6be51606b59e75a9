import ArgumentParser

/// Lets the options that every command takes stand before the command as well, as `kubectl` and `git` do.
///
/// The parser knows them only behind the last word of the command, so they are moved there.
enum GlobalOptionOrder {
    /// The options of ``GlobalOptions`` and ``AppOption`` that take a value.
    private static let options: Set = ["--url", "--key", "--profile", "--ca-file", "--app"]
    private static let flags: Set = ["--json"]

    /// The same command line with the options that stood before or among the words of the command behind them.
    static func behindCommand(_ words: [String], of root: any ParsableCommand.Type = Tally.self) -> [String] {
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
        // Without a command they stay, for the parser to tell what is missing.
        return names.isEmpty ? words : names + moved + rest
    }

    /// How many words an option has together with its value; nil for anything else.
    private static func length(of word: String) -> Int? {
        if flags.contains(word) { return 1 }
        if options.contains(word) { return 2 }
        return options.contains { word.hasPrefix($0 + "=") } ? 1 : nil
    }
}
