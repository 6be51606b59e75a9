import APITypes
import ArgumentParser

/// `tallyd config`: prints every setting, with secrets masked.
struct ShowConfiguration: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show every setting, secrets masked, and check them all."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let reader = try await ConfigurationReader(file: options.config)
        let keys = DaemonConfiguration.keys
        let width = keys.map(\.name.count).max() ?? 0
        for key in keys {
            let value = try Self.value(of: key, reader)
            print(key.name.padding(to: width), value.padding(to: 28), "#", key.help)
        }
        if !reader.unknown.isEmpty { print("\nNot known, and do nothing:") }
        for setting in reader.unknown { print(setting.description.printable()) }
        // What is wrong goes to standard error, and belongs below.
        flushOutput()
        _ = try DaemonConfiguration(reader)
        print("\nAll settings can be used.")
    }

    /// A secret shows only which file it comes from, if it does.
    private static func value(of key: ConfigurationKey, _ reader: ConfigurationReader) throws -> String {
        if let file = reader.file(key) { return "in \(file)".printable() }
        return try reader.text(key).map { key.isSecret ? "********" : $0 } ?? "-"
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
