import APITypes
import ActivityModel
import Foundation
import JSON
import TallyClient

/// Where to connect and as whom: from options, then the environment, then a profile.
struct Settings: Equatable {
    var url: String
    var key: String
    /// Certificates that are trusted beside the system's.
    var caFile: String?
    /// The app for commands that name none.
    var app: BundleID?

    /// Puts the three sources together.
    ///
    /// - Parameters:
    ///   - options: What was given on the command line.
    ///   - app: The app given on the command line.
    ///   - environment: The process's environment.
    ///   - readFile: The contents of a file; nil if there is none.
    /// - Throws: ``UsageError`` that says what is missing and how to give it.
    init(
        options: GlobalOptions,
        app: String?,
        environment: [String: String],
        readFile: (String) throws -> [UInt8]?
    ) throws {
        let profile = try Profile.find(named: options.profile, environment: environment, readFile: readFile)
        guard let url = options.url ?? environment["TALLY_URL"] ?? profile?.url else {
            throw UsageError(
                "Where is Tally? Give --url, or set TALLY_URL, such as http://127.0.0.1:8080; "
                    + "or write a profile (tally --help)."
            )
        }
        guard let key = options.key ?? environment["TALLY_API_KEY"] ?? profile?.key else {
            throw UsageError("Which API key? Give --key, or set TALLY_API_KEY; or write a profile (tally --help).")
        }
        self.url = url
        self.key = key
        caFile = options.caFile ?? environment["TALLY_CA_FILE"] ?? profile?.caFile
        if let text = app ?? environment["TALLY_APP"] ?? profile?.app {
            guard let bundleID = BundleID(text) else { throw UsageError("'\(text)' is not a bundle id.") }
            self.app = bundleID
        }
    }
}

/// A server that a person uses often.
struct Profile: Equatable {
    var url: String?
    var key: String?
    var caFile: String?
    var app: String?

    /// The profile that is asked for, else the file's default; nil if there is no file.
    static func find(
        named name: String?,
        environment: [String: String],
        readFile: (String) throws -> [UInt8]?
    ) throws -> Profile? {
        let path = path(environment)
        let wanted = name ?? environment["TALLY_PROFILE"]
        guard let path, let bytes = try readFile(path) else {
            guard let wanted else { return nil }
            throw UsageError("There is no file \(path ?? "config.json") with the profile '\(wanted)'.")
        }
        let document: JSONValue
        do {
            document = try JSONValue.parse(bytes)
        } catch {
            throw UsageError("\(path) is not valid JSON at byte \(error.offset): \(error.message)")
        }
        guard let chosen = wanted ?? document["default"]?.string else { return nil }
        guard let profile = document["profiles"]?[chosen]?.object else {
            let names = document["profiles"]?.object?.keys.sorted().joined(separator: ", ") ?? ""
            throw UsageError("\(path) has no profile '\(chosen)'; it has: \(names.isEmpty ? "none" : names).")
        }
        return Profile(
            url: profile["url"]?.string,
            key: profile["key"]?.string,
            caFile: profile["ca_file"]?.string,
            app: profile["app"]?.string
        )
    }

    private static func path(_ environment: [String: String]) -> String? {
        if let path = environment["TALLY_CONFIG"] { return path }
        if let folder = environment["XDG_CONFIG_HOME"], !folder.isEmpty { return folder + "/tally/config.json" }
        return environment["HOME"].map { $0 + "/.config/tally/config.json" }
    }
}

/// The command was given wrongly; nothing was sent.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
