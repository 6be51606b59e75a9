import ArgumentParser
import Foundation
import HTTPAPI
import TallyClient

/// `tallyd health`: asks a running daemon whether it is ready, for container probes.
struct Health: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Ask the daemon on this machine whether it is ready; exit code 1 if it is not.",
        discussion:
            "For health checks of containers, which have no curl. The address comes from the daemon's own configuration."
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "Where to ask instead, such as http://127.0.0.1:8080.")
    var url: String?

    @Option(help: "Seconds to wait for an answer.")
    var timeout = 5

    func validate() throws {
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout must be from 1 to 60.") }
    }

    func run() async throws {
        let reader = try await ConfigurationReader(file: options.config)
        let limit = Duration.seconds(timeout)
        // The health routes are open, so the key does not matter.
        let client = try TallyClient(
            .init(url: try url ?? Self.address(reader), key: "none", requestTimeout: limit, deadline: limit, retry: nil)
        )
        do {
            try await client.waitUntilReady()
        } catch {
            FileHandle.standardError.write(Data("not ready: \(error.detail)\n".utf8))
            throw ExitCode.failure
        }
        print("ready")
    }

    /// The address at which this machine reaches a daemon with that configuration.
    static func address(_ reader: ConfigurationReader) throws -> String {
        let usual = HTTPServerConfiguration()
        let configured = try reader.text(.httpHost) ?? usual.host
        let host =
            switch configured {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: configured
            }
        let port = try reader.integer(.httpPort, in: 0...65535) ?? usual.port
        guard port > 0 else {
            throw ConfigurationKey.httpPort.refused("is 0, so the port is unknown: give --url")
        }
        return host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }
}
