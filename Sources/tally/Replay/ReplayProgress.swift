/// Shows the progress of a replay: a bar on a terminal, elsewhere one line for each tenth.
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

    /// Records that `done` posts are complete. `label` describes the last one.
    mutating func advance(to done: Int, label: String?) {
        let text = Self.bar(done: done, total: total) + (label.map { "  " + $0 } ?? "")
        if isTerminal {
            // Returns to the start of the line, and clears the rest of a longer old text.
            write("\r" + text + "\u{1B}[K" + (done == total ? "\n" : ""))
        } else {
            let tenths = done * 10 / total
            guard tenths > shownTenths else { return }
            shownTenths = tenths
            write(text + "\n")
        }
    }

    /// Ends the line of the bar, so that an error message can follow.
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
