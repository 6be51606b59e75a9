/// Guesses what a property means from the words of its name.
struct NameWords {
    private static let counts: Set<String> = [
        "attempt", "count", "goal", "index", "inning", "lap", "level", "minute", "number", "overs", "penalty",
        "penalties",
        "period", "place", "point", "position", "quantity", "quarter", "rank", "round", "run", "score", "seat", "set",
        "step", "stop", "wicket", "year",
    ]
    private static let dates: Set<String> = ["at", "date", "deadline", "eta", "kickoff", "timestamp"]
    private static let identifiers: Set<String> = ["id", "identifier"]

    /// The words in lower case: `homeScore`, `home_score` and `HOMEScore` are `home` and `score`.
    let words: [String]

    init(_ name: String) {
        var words: [String] = []
        var wasSmall = false
        var startsNew = true
        for character in name {
            guard character.isLetter || character.isNumber else {
                startsNew = true
                continue
            }
            if startsNew || wasSmall && character.isUppercase { words.append("") }
            startsNew = false
            wasSmall = !character.isUppercase
            words[words.count - 1] += character.lowercased()
        }
        self.words = words
    }

    var readsAsCount: Bool { last(in: Self.counts) }
    var readsAsDate: Bool { last(in: Self.dates) }
    var readsAsIdentifier: Bool { last(in: Self.identifiers) }

    /// The last word names the kind of value: `score` in `homeScore`, but not in `scoreText`.
    private func last(in list: Set<String>) -> Bool {
        guard let word = words.last else { return false }
        return list.contains(word) || word.hasSuffix("s") && list.contains(String(word.dropLast()))
    }
}

extension String {
    /// `home_score`: lower case with underscores between the words.
    var isSnakeCase: Bool {
        let parts = split(separator: "_", omittingEmptySubsequences: false)
        return parts.count > 1 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLowercase || $0.isNumber } }
    }

    /// `homeScore`.
    var isCamelCase: Bool {
        first?.isLowercase == true && contains(where: \.isUppercase) && !contains("_")
    }
}
