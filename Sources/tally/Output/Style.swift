import APITypes
import Foundation

/// Colours on a terminal. Plain text elsewhere, and if the environment variable `NO_COLOR` is set.
struct Style {
    let isColoured: Bool

    /// The style of standard output.
    static var standard: Style {
        let environment = ProcessInfo.processInfo.environment
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return Style(isColoured: Terminal.outputIsTerminal && !isRefused && environment["TERM"] != "dumb")
    }

    /// The meaning of a colour. The numbers are those of ECMA-48 (SGR).
    enum Meaning: Int, CaseIterable {
        case strong = 1
        case faint = 2
        case bad = 31
        case good = 32
        case doubtful = 33

        fileprivate var sequence: String { "\u{1B}[\(rawValue)m" }
    }

    func text(_ text: String, _ meaning: Meaning?) -> String {
        guard isColoured, let meaning else { return text }
        return "\(meaning.sequence)\(text)\(Self.end)"
    }

    /// Escapes everything that controls a terminal, except the colours of this type.
    static func printable(_ text: String) -> String {
        var printable = text.printable(keepingLines: true)
        for sequence in Meaning.allCases.map(\.sequence) + [end] {
            printable = printable.replacing(sequence.printable(), with: sequence)
        }
        return printable
    }

    private static let end = "\u{1B}[0m"
}
