import Foundation

/// Colours on a terminal, plain text elsewhere, and where the environment variable `NO_COLOR` is set to anything.
struct Style {
    let isColoured: Bool

    /// For the process's answers.
    static var standard: Style {
        let environment = ProcessInfo.processInfo.environment
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return Style(isColoured: Console.outputIsTerminal && !isRefused && environment["TERM"] != "dumb")
    }

    /// What a colour says. The numbers are those of ECMA-48 (SGR).
    enum Meaning: Int {
        case strong = 1
        case faint = 2
        case bad = 31
        case good = 32
        case doubtful = 33
    }

    func text(_ text: String, _ meaning: Meaning?) -> String {
        guard isColoured, let meaning else { return text }
        return "\u{1B}[\(meaning.rawValue)m\(text)\u{1B}[0m"
    }
}
