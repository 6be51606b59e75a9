import APITypes
import ActivityModel
import Foundation
import JSON
import TallyClient

/// The address and the API key to use: from the command line, the environment or a profile, in this order.
///
/// Address, key and certificates belong together and come from the same source. Only the command line may replace one
/// of them. This prevents a key from being sent to another host.
struct Settings: Equatable {
    var url: String
    var key: String
    /// Certificates to trust besides the system's.
    var caFile: String?
    /// The app for commands that name none.
    var app: BundleID?

    /// Combines the sources. A profile from the command line overrides the environment. The environment overrides a
    /// profile from `TALLY_PROFILE` or the file's default.
    ///
    /// - Parameters:
    ///   - options: The options on the command line.
    ///   - app: The app on the command line.
    ///   - environment: The process's environment. An empty variable counts as absent.
    ///   - readFile: Returns a file's contents, or nil if it does not exist.
    /// - Throws: ``UsageError`` that names the missing setting and how to give it.
    init(
        options: GlobalOptions,
        app: String?,
        environment: [String: String],
        readFile: (String) throws -> [UInt8]?
    ) throws {
        let environment = environment.filter { !$0.value.isEmpty }
        let source: Profile
        if options.profile == nil, options.url ?? environment["TALLY_URL"] != nil {
            source = Profile(
                url: environment["TALLY_URL"],
                key: try options.key ?? Self.key(in: environment),
                caFile: environment["TALLY_CA_FILE"],
                app: environment["TALLY_APP"]
            )
        } else {
            source = try Self.profile(options, environment, readFile)
        }
        guard let url = options.url ?? source.url else {
            throw UsageError(
                "Where is Tally? Give --url, or set TALLY_URL, such as http://127.0.0.1:8080; "
                    + "or save a profile: tally profile add NAME --url … --key …"
            )
        }
        guard let key = options.key ?? source.key else {
            throw UsageError(
                "Which API key? Give --key, or set TALLY_API_KEY and TALLY_URL; or save a profile: tally profile add."
            )
        }
        self.url = url
        self.key = key
        caFile = options.caFile ?? source.caFile
        if let text = app ?? source.app {
            guard let bundleID = BundleID(text) else { throw UsageError("'\(text)' is not a bundle id.") }
            self.app = bundleID
        }
    }

    /// The API key of the environment, or the content of the file that it names.
    ///
    /// - Throws: ``UsageError`` if both are set, or the file cannot be read.
    static func key(in environment: [String: String]) throws -> String? {
        guard let path = environment["TALLY_API_KEY_FILE"] else { return environment["TALLY_API_KEY"] }
        guard environment["TALLY_API_KEY"] == nil else {
            throw UsageError("Unset TALLY_API_KEY or TALLY_API_KEY_FILE: both are set.")
        }
        let key = try Files.readText(path).trimmingCharacters(in: .newlines)
        guard !key.isEmpty else { throw UsageError("\(path), which TALLY_API_KEY_FILE names, is empty.") }
        return key
    }

    /// The profile. The environment adds missing values, unless they could belong to another host.
    private static func profile(
        _ options: GlobalOptions,
        _ environment: [String: String],
        _ readFile: (String) throws -> [UInt8]?
    ) throws -> Profile {
        var profile =
            try Profile.find(named: options.profile, environment: environment, readFile: readFile) ?? Profile()
        if options.profile != nil {
            if options.url != nil, options.url != profile.url {
                // The profile's key and certificates belong to another host.
                (profile.key, profile.caFile) = (nil, nil)
            }
            profile.app = profile.app ?? environment["TALLY_APP"]
            return profile
        }
        profile.app = environment["TALLY_APP"] ?? profile.app
        guard options.key == nil, profile.url != nil, let key = try key(in: environment) else { return profile }
        guard profile.key == nil else {
            throw UsageError(
                "TALLY_API_KEY says as whom, and nothing says where: the profile has a key of its own. "
                    + "Set TALLY_URL as well, unset TALLY_API_KEY, or name the profile with --profile."
            )
        }
        // A profile may leave the key to the environment, so that its file contains no secret.
        profile.key = key
        return profile
    }
}

/// A named server in the profiles file.
struct Profile: Equatable {
    var url: String?
    var key: String?
    var caFile: String?
    var app: String?

    /// The requested profile, or else the file's default; nil if there is no file.
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
        let file = try ProfileFile(bytes, path: path)
        guard let chosen = wanted ?? file.standard else { return nil }
        guard let profile = file[chosen] else {
            let names = file.names.joined(separator: ", ")
            throw UsageError("\(path) has no profile '\(chosen)'; it has: \(names.isEmpty ? "none" : names).")
        }
        return profile
    }

    static func path(_ environment: [String: String]) -> String? {
        if let path = environment["TALLY_CONFIG"] { return path }
        if let folder = environment["XDG_CONFIG_HOME"], !folder.isEmpty { return folder + "/tally/config.json" }
        return environment["HOME"].map { $0 + "/.config/tally/config.json" }
    }
}

/// The command line is wrong. Nothing was sent.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
