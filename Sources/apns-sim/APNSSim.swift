import APITypes
import ArgumentParser
import Foundation

/// The APNs simulator: everything of Apple that a server can see, with simulated phones.
@main
struct APNSSim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns-sim",
        abstract: "Apple's push service as far as a server can see, with phones behind it.",
        version: ProgramVersion.current,
        subcommands: [ServeCommand.self, PhonesCommand.self, ReportCommand.self, RulesCommand.self, ShowCommand.self]
    )
}

/// The address of the simulator.
struct ControlOptions: ParsableArguments {
    @Option(help: "Address of the simulator's control API. (default: $APNS_SIM_CONTROL_URL)")
    var control: String?

    func url() throws -> String {
        guard let url = control ?? ProcessInfo.processInfo.environment["APNS_SIM_CONTROL_URL"] else {
            throw ValidationError("name the simulator with --control or APNS_SIM_CONTROL_URL")
        }
        return url
    }
}
