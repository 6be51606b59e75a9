import Configuration
import Foundation
import SystemPackage

/// Reads settings by name. Environment variables override the lines of a file.
struct ConfigurationReader: Sendable {
    private let reader: ConfigReader
    /// Settings that the daemon does not know, first those of the environment.
    let unknown: [UnknownSetting]

    /// - Parameters:
    ///   - file: A file with lines `KEY=value`, or nil.
    ///   - environment: The environment variables; tests pass others.
    /// - Throws: ``ConfigurationError`` if the file cannot be read.
    init(file: String?, environment: [String: String] = ProcessInfo.processInfo.environment) async throws {
        var providers: [any ConfigProvider] = [EnvironmentVariablesProvider(environmentVariables: environment)]
        var unknown = UnknownSetting.all(inEnvironment: environment)
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

    /// The value of a key, or for a secret the content of the file that its `…_FILE` names. An empty value counts as
    /// absent.
    func text(_ key: ConfigurationKey) throws(ConfigurationError) -> String? {
        let value = value(key.name, isSecret: key.isSecret)
        guard let path = file(key), let fileName = key.fileName else { return value }
        guard value == nil else {
            throw key.refused("is set, and \(fileName) names \(path) as well; remove one of them")
        }
        return try SecretFile(path: path, setting: fileName).content()
    }

    /// The path in the key's `…_FILE`.
    func file(_ key: ConfigurationKey) -> String? {
        key.fileName.flatMap { value($0, isSecret: false) }
    }

    private func value(_ name: String, isSecret: Bool) -> String? {
        let path = name.lowercased().split(separator: "_").map(String.init)
        guard let value = reader.string(forKey: ConfigKey(path), isSecret: isSecret), !value.isEmpty else {
            return nil
        }
        return value
    }

    func required(_ key: ConfigurationKey) throws(ConfigurationError) -> String {
        guard let value = try text(key) else {
            let slip = unknown.first { $0.meant == key.name }
            let hint = slip.map { "; \($0.name) is, which nothing reads" } ?? ""
            throw key.refused("is not set\(hint): \(key.help)")
        }
        return value
    }

    /// One word of a list.
    func word<Word: RawRepresentable<String> & CaseIterable>(
        _ key: ConfigurationKey,
        _: Word.Type = Word.self
    ) throws(ConfigurationError) -> Word? {
        guard let text = try text(key) else { return nil }
        if let word = Word(rawValue: text) { return word }
        let words = Word.allCases.map(\.rawValue)
        let all = words.joined(separator: words.count == 2 ? " nor " : ", ")
        throw key.refused((words.count == 2 ? "is neither " : "is not one of ") + all)
    }

    func integer(_ key: ConfigurationKey, in range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let text = try text(key) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw key.refused("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }
}
