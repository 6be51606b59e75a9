import ArgumentParser
import Logging

/// `tallyd serve`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the daemon against a migrated database.",
        discussion:
            "Prints one line 'listening on http://…' when it takes requests. SIGTERM and SIGINT end it in order."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try DaemonConfiguration(try await ConfigurationReader(file: options.config))
        try await Daemon(configuration: configuration).run { address, _ in
            print("listening on \(address)")
            flushOutput()
        }
    }
}
