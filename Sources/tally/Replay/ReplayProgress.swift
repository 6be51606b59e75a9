/// Shows how far a replay has come: a bar that is redrawn on a terminal, elsewhere a line for each tenth.
struct ReplayProgress {
    private let total: Int
    private let isTerminal: Bool
    private let write: (String) -> Void
    private var shownTenths = 0

    init(total: Int, isTerminal: Bool, write: @escaping (String) -> Void) {
        self.total = max(total, 1)
        self.isTerminal = isTerminal
        self.write = write
    }

    /// So many posts are through; `label` says what the last one was.
    mutating func advance(to done: Int, label: String?) {
        let text = Self.bar(done: done, total: total) + (label.map { "  " + $0 } ?? "")
        if isTerminal {
            // To the start of the line, the text, and nothing of a longer one before.
            write("\r" + text + "\u{1B}[K" + (done == total ? "\n" : ""))
        } else {
            let tenths = done * 10 / total
            guard tenths > shownTenths else { return }
            shownTenths = tenths
            write(text + "\n")
        }
    }

    /// Leaves the line of the bar, for words about a failure.
    func interrupt() {
        if isTerminal { write("\n") }
    }

    static func bar(done: Int, total: Int) -> String {
        let width = 30
        let filled = done * width / total
        let percent = String(done * 100 / total)
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let padding = String(repeating: " ", count: 3 - percent.count)
        return "[\(bar)] \(padding)\(percent) %  \(done)/\(total)"
    }
}
