import APITypes
import ArgumentParser

/// The daemon's program, with its commands.
@main
struct Tallyd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tallyd",
        abstract: "Tells phones what is happening: keeps iOS Live Activities on the newest state.",
        version: ProgramVersion.current,
        subcommands: [Serve.self, Migrate.self, ShowConfiguration.self, Health.self, Dev.self]
    )
}

/// The configuration file, for every command that needs one.
struct ConfigurationOptions: ParsableArguments {
    @Option(help: "A file of lines KEY=value. Variables of the environment go before it.")
    var config: String?
}
