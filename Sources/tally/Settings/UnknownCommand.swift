import ArgumentParser

/// A word in the place of a command that is none. ArgumentParser reports it as an unexpected argument.
struct UnknownCommand: Equatable {
    let word: String
    /// The commands before it, such as `activities`.
    let parents: [String]
    /// The command that was probably meant; nil if none is similar.
    let suggestion: String?

    /// Nil if the words are those of a command.
    init?(_ words: [String], of root: any ParsableCommand.Type = TallyCommand.self) {
        var command = root
        var parents: [String] = []
        for word in words {
            let commands = command.configuration.subcommands
            // Options, and the values of a command without subcommands, are ArgumentParser's.
            guard !commands.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            guard let next = commands.first(where: { $0._commandName == word }) else {
                self.word = word
                self.parents = parents
                suggestion = Self.nearest(to: word, among: commands.map { $0._commandName })
                return
            }
            command = next
            parents.append(word)
        }
        return nil
    }

    /// Commands that people look for in the wrong place, and where they are.
    private static let elsewhere = ["tally halts resume": "tally apps resume"]

    var text: String {
        let command = (["tally"] + parents).joined(separator: " ")
        let meant = Self.elsewhere["\(command) \(word)"] ?? suggestion.map { "\(command) \($0)" }
        let advice = meant.map { " Did you mean '\($0)'?" } ?? ""
        return
            "tally: usage: '\(command)' has no command '\(word)'.\(advice)\n  → '\(command) --help' lists the commands."
    }

    /// The name that needs the fewest changes, if they are at most a third of the word.
    private static func nearest(to word: String, among names: [String]) -> String? {
        let distances = names.map { (name: $0, distance: distance(word, $0)) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return nearest.distance <= max(1, word.count / 3) ? nearest.name : nil
    }

    /// The number of letters to add, remove or replace (Levenshtein).
    static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (place, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = place + 1
            for column in right.indices {
                let replaced = diagonal + (letter == right[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
