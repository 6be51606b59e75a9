import APNSSimulator
import ArgumentParser
import Foundation

/// Compares what phones show with the recorded posts.
struct ReportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Compare what phones show with what was posted.",
        discussion: "Exit code 1 if one phone is wrong."
    )

    @OptionGroup var simulator: ControlOptions

    @Option(help: "The accepted posts as JSON lines, as 'tally replay' writes them.")
    var posts: String

    @Option(help: "Wait so many seconds until all phones are right.")
    var wait = 0

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let client = ControlClient(url: try simulator.url())
        let report = try await client.report(postsFile: posts, waiting: .seconds(wait))
        print(json ? report.jsonText : report.table)
        if !report.isRight { throw ExitCode.failure }
    }
}

/// Draws a phone, or prints JSON from the control API.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a phone with its cards, or the summary, channels or faults as JSON.",
        discussion: "A phone is drawn on a terminal, and is JSON elsewhere."
    )

    @OptionGroup var simulator: ControlOptions

    @Argument(help: "summary, channels, faults, or the id of a phone.")
    var what = "summary"

    @Option(name: [.customShort("o"), .long], help: "How to show a phone: card or json.")
    var output: PhoneOutput?

    func run() async throws {
        let client = ControlClient(url: try simulator.url())
        guard !["summary", "channels", "faults"].contains(what) else {
            return print(try await client.text(of: "/\(what)"))
        }
        switch output ?? (isatty(STDOUT_FILENO) == 1 ? .card : .json) {
        case .card: print(try await client.drawing(ofPhone: what))
        case .json: print(try await client.text(of: "/phones/\(what)"))
        }
    }
}

/// A form of a phone.
enum PhoneOutput: String, CaseIterable, ExpressibleByArgument {
    case card
    case json
}
