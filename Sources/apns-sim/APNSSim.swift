import APITypes
import ArgumentParser
import Foundation

/// Apple as far as a server can see, with phones behind it.
@main
struct APNSSim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns-sim",
        abstract: "Apple's push service as far as a server can see, with phones behind it.",
        version: ProgramVersion.current,
        subcommands: [ServeCommand.self, PhonesCommand.self, ReportCommand.self, RulesCommand.self, ShowCommand.self]
    )
}

/// Where the simulator is that a command is about.
struct ControlOptions: ParsableArguments {
    @Option(help: "Address of the simulator's control API. (default: $APNS_SIM_CONTROL_URL)")
    var control: String?

    /// The address.
    func url() throws -> String {
        guard let url = control ?? ProcessInfo.processInfo.environment["APNS_SIM_CONTROL_URL"] else {
            throw ValidationError("name the simulator with --control or APNS_SIM_CONTROL_URL")
        }
        return url
    }
}
