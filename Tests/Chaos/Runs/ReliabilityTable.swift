import Foundation
import SystemSupport
import TestSupport

/// What runs came to, scenario by scenario, as a table of a document.
struct ReliabilityTable: Sendable {
    private let results: Runs.Results
    private let leftOut: [String]
    private let conditions: Conditions
    /// What to type for the same.
    private let command: String

    init(_ results: Runs.Results, leftOut: [String], under conditions: Conditions, command: String) {
        self.results = results
        self.leftOut = leftOut
        self.conditions = conditions
        self.command = command
    }

    private static let begin = "<!-- chaos: begin -->"
    private static let end = "<!-- chaos: end -->"

    /// Writes the table between the marks of a page. What other runs have written there stays, but for the rows of the
    /// scenarios that were played now.
    ///
    /// - Throws: ``Failure`` if the page has no marks.
    func write(to path: String) throws {
        let page = try String(contentsOfFile: path, encoding: .utf8)
        guard let begin = page.range(of: Self.begin), let end = page.range(of: Self.end),
            begin.upperBound <= end.lowerBound
        else { throw Failure("\(path) has no marks \(Self.begin) and \(Self.end)") }
        let blocks = [text] + kept(from: page[begin.upperBound..<end.lowerBound])
        let new =
            page[..<begin.upperBound] + "\n\n" + blocks.joined(separator: "\n\n") + "\n\n" + page[end.lowerBound...]
        try String(new).write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// The tables of other runs, each from its command on, without what was played now; those that are then empty are
    /// gone.
    private func kept(from section: Substring) -> [String] {
        let played = Set(results.map { "| `\($0.run.scenario.name)` |" })
        var blocks: [[Substring]] = []
        for line in section.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```sh" { blocks.append([]) }
            guard !blocks.isEmpty, !played.contains(where: line.hasPrefix) else { continue }
            blocks[blocks.count - 1].append(line)
        }
        return blocks.filter { $0.contains { $0.hasPrefix("| `") } }
            .map { $0.joined(separator: "\n").trimmingCharacters(in: .newlines) }
    }

    private var text: String {
        var lines = [
            "```sh", command, "```", "", conditions.text, "",
            "| scenario | what goes wrong | seeds | accepted | right | starts repeated (lost) | pushes repeated | recovery, median (longest) |",
            "|---|---|---:|---:|---:|---:|---:|---:|",
        ]
        for scenario in Scenario.all {
            let runs = results.filter { $0.run.scenario.name == scenario.name }
            if !runs.isEmpty { lines.append(row(of: scenario, runs)) }
        }
        if !leftOut.isEmpty { lines += ["", "Left out:"] + leftOut.map { "- \($0)" } }
        return lines.joined(separator: "\n")
    }

    private func row(of scenario: Scenario, _ runs: Runs.Results) -> String {
        let outcomes = runs.compactMap(\.outcome)
        let verdicts = outcomes.map(\.verdict)
        func sum(_ count: (Verdict) -> Int) -> Int { verdicts.reduce(0) { $0 + count($1) } }
        let right = sum { Int($0.right) + $0.lostStarts }
        let phones = sum { Int($0.phones) }
        let isKept = outcomes.count == runs.count && verdicts.allSatisfy { $0.broken.isEmpty }
        let recoveries = outcomes.map(\.recovery).sorted()
        let recovery =
            recoveries.isEmpty
            ? "–"
            : "\(recoveries[recoveries.count / 2].inSeconds) s (\(recoveries[recoveries.count - 1].inSeconds) s)"
        let cells = [
            "`\(scenario.name)`", scenario.story, "\(runs.count)", "\(outcomes.reduce(0) { $0 + $1.accepted })",
            isKept && right == phones ? "all of \(phones)" : "**\(right) of \(phones)**",
            "\(sum { $0.repeatedStarts }) (\(sum { $0.lostStarts }))", "\(sum { Int($0.repeatedPushes) })", recovery,
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }
}

/// On what machine, and when.
struct Conditions: Sendable {
    private let beganAt = Date()
    private let load = Self.loadAverage

    /// In a sentence, at the end of all runs.
    var text: String {
        let day = beganAt.formatted(.iso8601.year().month().day())
        return """
            \(day); \(Self.processor), \(ProcessInfo.processInfo.activeProcessorCount) CPUs, load average \(load) at the \
            beginning and \(Self.loadAverage) at the end, debug build, \(Int(-beganAt.timeIntervalSinceNow / 60)) minutes. \
            Where the machine is shared or busy, recovery is an upper bound.
            """
    }

    private static var loadAverage: String {
        // A system without it is said so.
        (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first.map(String.init)
            ?? "unknown"
    }

    private static var processor: String {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "a processor"
    }
}
