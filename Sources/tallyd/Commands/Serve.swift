import ArgumentParser
import Logging

/// `tallyd serve`: runs the daemon.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the daemon against a migrated database.",
        discussion:
            "Prints one line 'listening on http://…' when it takes requests. SIGTERM and SIGINT end it in order."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let reader = try await ConfigurationReader(file: options.config)
        do {
            try await serve(reader)
        } catch {
            // A wrong setting is also said in the format of the log, if that is a right one.
            let format = (try? reader.word(.logFormat, LogFormat.self)) ?? .text
            Daemon.logger(level: .critical, format).critical("tallyd ends: \(error)")
            throw ExitCode.failure
        }
    }

    private func serve(_ reader: ConfigurationReader) async throws {
        let configuration = try DaemonConfiguration(reader)
        if !reader.unknown.isEmpty {
            // Only a warning: settings of a newer version or another program must not prevent the start.
            Daemon.logger(level: configuration.logLevel, configuration.logFormat).warning(
                "these settings are not known, and do nothing",
                metadata: ["settings": "\(reader.unknown.map(\.description).joined(separator: ", "))"]
            )
        }
        try await Daemon(configuration: configuration).run { address, _, _ in
            print("listening on \(address)")
            flushOutput()
        }
    }
}
