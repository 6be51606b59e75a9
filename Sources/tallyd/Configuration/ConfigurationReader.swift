import Configuration
import Foundation
import SystemPackage

/// Reads settings by name. Environment variables override the lines of a file.
struct ConfigurationReader: Sendable {
    private let reader: ConfigReader
    /// Settings that the daemon does not know, first those of the environment.
    let unknown: [UnknownSetting]

    /// - Parameter file: A file with lines `KEY=value`, or nil.
    /// - Throws: ``ConfigurationError`` if the file cannot be read.
    init(file: String?) async throws {
        var providers: [any ConfigProvider] = [EnvironmentVariablesProvider()]
        var unknown = UnknownSetting.all(inEnvironment: ProcessInfo.processInfo.environment)
        if let file {
            do {
                providers.append(try await EnvironmentVariablesProvider(environmentFilePath: FilePath(file)))
                // The provider has no list of its names, so the file is read again.
                unknown += UnknownSetting.all(in: try String(contentsOfFile: file, encoding: .utf8), of: file)
            } catch {
                throw ConfigurationError(key: "--config", message: "\(file) cannot be read: \(error)")
            }
        }
        reader = ConfigReader(providers: providers)
        self.unknown = unknown
    }

    /// The value of a key. An empty value counts as absent.
    func text(_ key: ConfigurationKey) -> String? {
        let path = key.name.lowercased().split(separator: "_").map(String.init)
        guard let value = reader.string(forKey: ConfigKey(path), isSecret: key.isSecret), !value.isEmpty else {
            return nil
        }
        return value
    }

    func required(_ key: ConfigurationKey) throws(ConfigurationError) -> String {
        guard let value = text(key) else {
            let slip = unknown.first { $0.meant == key.name }
            let hint = slip.map { "; \($0.name) is, which nothing reads" } ?? ""
            throw ConfigurationError(key: key.name, message: "is not set\(hint): \(key.help)")
        }
        return value
    }

    func integer(_ key: ConfigurationKey, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let text = text(key) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw ConfigurationError(
                key: key.name,
                message: "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return value
    }
}
