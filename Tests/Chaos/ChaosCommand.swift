import ArgumentParser
import Dispatch
import Foundation
import Glibc
import SystemSupport

/// Plays scenarios of faults on the whole system and judges the promises.
@main
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tools/chaos",
        abstract: "Let things go wrong under load, and see whether Tally keeps its promises.",
        discussion: """
            Each run has a private Postgres, the simulator with its phones, and tallyd, all as processes of their own on this \
            machine. Exit code 1 if a promise was broken; the last line says which.
            """
    )

    @Argument(help: "Which scenarios; all if none is named.")
    var scenarios: [String] = []

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    @Option(help: "With how many seeds each; as many as the table of scenarios says if not given.")
    var times: Int?

    @Option(help: "How many runs at a time, 1 to 3.")
    var jobs = 1

    @Flag(help: "Only those that take little, once, and shorter.")
    var short = false

    @Flag(help: "Say what there is, and play nothing.")
    var list = false

    @Option(
        help: ArgumentHelp(
            "A folder with the programs of an earlier version; tools/chaos takes a commit, too.",
            valueName: "folder"
        )
    )
    var earlier: String?

    @Option(help: "Write the table into this page, between its marks.")
    var write: String?

    func validate() throws {
        for name in scenarios where !Scenario.all.contains(where: { $0.name == name }) {
            throw ValidationError("there is no scenario '\(name)'; see --list")
        }
        guard (1...3).contains(jobs) else { throw ValidationError("--jobs must be from 1 to 3") }
        guard (times ?? 1) > 0 else { throw ValidationError("--times must be over 0") }
    }

    func run() async throws {
        if list { return Self.tellOfAll() }
        Self.endOnSignals()
        let conditions = Conditions()
        var leftOut: [String] = []
        var playable: [Scenario] = []
        for scenario in Scenario.all where isChosen(scenario) {
            if let obstacle = obstacle(to: scenario) {
                leftOut.append("`\(scenario.name)`: \(obstacle)")
                say("\(scenario.name) is left out: \(obstacle)")
            } else {
                playable.append(scenario)
            }
        }
        let broken = try await Runs(runs: runs(of: playable), width: jobs).play { [leftOut] results in
            guard let write else { return }
            try ReliabilityTable(results, leftOut: leftOut, under: conditions, command: commandLine).write(to: write)
        }
        guard let last = broken.last else { return }
        say(String(last.split(separator: "\n").first ?? ""))
        throw ExitCode(1)
    }

    /// What to type on another machine for the same.
    private var commandLine: String {
        var words = ["tools/chaos"] + scenarios
        if seed != 1 { words += ["--seed", "\(seed)"] }
        if let times { words += ["--times", "\(times)"] }
        if jobs != 1 { words += ["--jobs", "\(jobs)"] }
        if short { words.append("--short") }
        // tools/chaos keeps a commit's programs in a folder with its name.
        let commit = earlier?.split(separator: "/").first { $0.count == 40 && $0.allSatisfy(\.isHexDigit) }
        if earlier != nil { words += ["--earlier", commit.map { String($0.prefix(7)) } ?? "COMMIT"] }
        return (words + ["--write", "docs/internals/reliability.md"]).joined(separator: " ")
    }

    private var earlierPrograms: URL? { earlier.map { URL(fileURLWithPath: $0) } }

    private func obstacle(to scenario: Scenario) -> String? {
        if scenario.beginsEarlier, earlier == nil { return "no earlier version is named by --earlier" }
        return scenario.obstacle()
    }

    /// All in turn, those with many seeds more often, so that whoever ends it early has seen something of each.
    private func runs(of scenarios: [Scenario]) -> [Run] {
        let runs = scenarios.flatMap { scenario in
            let count = times ?? (short ? 1 : scenario.times)
            return (0..<count).map { number in
                let seed = seed &+ UInt64(number)
                let run = Run(scenario: scenario, seed: seed, isShort: short, earlier: earlierPrograms)
                return (run: run, place: Double(number) / Double(count))
            }
        }
        // Equal places stay in the order of the table.
        return runs.enumerated().sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }
            .map(\.element.run)
    }

    private func isChosen(_ scenario: Scenario) -> Bool {
        scenarios.isEmpty ? !short || scenario.isShort : scenarios.contains(scenario.name)
    }

    private static func tellOfAll() {
        let width = Scenario.all.map { $0.name.count }.max() ?? 0
        for scenario in Scenario.all {
            let name = scenario.name.padding(toLength: width, withPad: " ", startingAt: 0)
            say("\(name)  \(scenario.story)")
        }
    }

    /// Ends everything that runs, and then us, when we are told to end.
    private static func endOnSignals() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                LastDuties.perform()
                Glibc.exit(128 + number)
            }
            source.resume()
            sources.append(source)
        }
    }

    /// Kept for as long as we run. Only set before anything else runs.
    nonisolated(unsafe) private static var sources: [any DispatchSourceSignal] = []
}
