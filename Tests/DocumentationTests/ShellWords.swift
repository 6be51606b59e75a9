/// The commands of a script, as far as documents use the language: words, quotes, comments, lines that go on.
enum ShellWords {
    /// The words of every simple command; variables and substitutions stay as they are written.
    static func commands(in script: String) -> [[String]] {
        var reader = Reader(script.replacing("\\\n", with: " "))
        return reader.commands()
    }

    private struct Reader {
        private let text: [Character]
        private var place = 0
        private var found: [[String]] = []
        private var words: [String] = []
        private var word: String?

        init(_ text: String) {
            self.text = Array(text)
        }

        mutating func commands() -> [[String]] {
            while place < text.count { step() }
            endCommand()
            return found
        }

        private mutating func step() {
            let character = text[place]
            place += 1
            switch character {
            case "'": word = (word ?? "") + take(until: "'")
            case "\"": word = (word ?? "") + take(until: "\"")
            case "#" where word == nil: _ = take(until: "\n", keepingEnd: true)
            case "\n", ";", "|", "&", "(", ")": endCommand()
            case " ", "\t": endWord()
            default: word = (word ?? "") + String(character)
            }
        }

        private mutating func take(until end: Character, keepingEnd: Bool = false) -> String {
            let start = place
            while place < text.count, text[place] != end { place += 1 }
            let taken = String(text[start..<place])
            if !keepingEnd { place += 1 }
            return taken
        }

        private mutating func endWord() {
            if let word { words.append(word) }
            word = nil
        }

        private mutating func endCommand() {
            endWord()
            if !words.isEmpty { found.append(words) }
            words = []
        }
    }
}
