import APNSSimulator
import ArgumentParser

/// Prints the simulator's table of Apple's rules.
struct RulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Print the rules: each condition, the answer that it brings, and who says so.",
        discussion: "The rows of one request are tried in this order, and the first that is broken speaks."
    )

    @Flag(help: "Print JSON.")
    var json = false

    func run() {
        let table = RulesTable()
        print(json ? table.json : table.text)
    }
}
