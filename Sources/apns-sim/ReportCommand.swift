import APNSSimulator
import ArgumentParser

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

/// Prints JSON from the control API.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print what the simulator knows as JSON: summary, channels, faults, or one phone."
    )

    @OptionGroup var simulator: ControlOptions

    @Argument(help: "summary, channels, faults, or the id of a phone.")
    var what = "summary"

    func run() async throws {
        let path = ["summary", "channels", "faults"].contains(what) ? "/\(what)" : "/phones/\(what)"
        print(try await ControlClient(url: try simulator.url()).text(of: path))
    }
}
