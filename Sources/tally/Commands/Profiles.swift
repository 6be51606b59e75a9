import ActivityModel
import ArgumentParser
import Foundation
import JSON

struct Profiles: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Named servers with their keys, in one file.",
        discussion: "docs/reference/command-line.md says when a profile is used.",
        subcommands: [Add.self, Use.self, List.self, Remove.self]
    )

    struct Add: ProfileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save a server with its key, or replace it.",
            discussion: """
                Takes --url, --key, --ca-file and --app, and what is missing from TALLY_URL, TALLY_API_KEY, TALLY_CA_FILE and \
                TALLY_APP. The first profile becomes the default.
                """,
            examples: "tally profile add local --url http://127.0.0.1:8080 --key \"$KEY\""
        )

        @Argument(help: "Its name.") var name: String
        @OptionGroup var app: AppOption

        var global: GlobalOptions { app.global }

        func change(_ profiles: inout ProfileFile, _ environment: [String: String]) throws -> String {
            guard let url = global.url ?? environment["TALLY_URL"] else {
                throw UsageError("Where is Tally? Give --url, or set TALLY_URL.")
            }
            guard let key = try global.key ?? Settings.key(in: environment) else {
                throw UsageError("Which API key? Give --key, or set TALLY_API_KEY.")
            }
            let app = app.app ?? environment["TALLY_APP"]
            if let app, BundleID(app) == nil { throw UsageError("'\(app)' is not a bundle id.") }
            let caFile = global.caFile ?? environment["TALLY_CA_FILE"]
            let done = profiles.names.contains(name) ? "replaced" : "saved"
            profiles.add(Profile(url: url, key: key, caFile: caFile, app: app), as: name)
            return "The profile '\(name)' is \(done)\(profiles.standard == name ? ", and is the default" : "")."
        }
    }

    struct Use: ProfileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a profile the default.",
            examples: "tally profile use local"
        )

        @Argument(help: "Its name.") var name: String
        @OptionGroup var global: GlobalOptions

        func change(_ profiles: inout ProfileFile, _ environment: [String: String]) throws -> String {
            try profiles.use(name)
            return "'\(name)' is the default now."
        }
    }

    struct List: ProfileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the profiles. Keys are not shown.",
            examples: "tally profile list"
        )

        @OptionGroup var global: GlobalOptions

        func change(_ profiles: inout ProfileFile, _ environment: [String: String]) throws -> String {
            if global.format == .json { return profiles.listing.text }
            let columns: [Table.Column] = [
                .init(title: "PROFILE"), .init(title: "DEFAULT"), .init(title: "URL"), .init(title: "APP"),
            ]
            let rows = profiles.names.map { name in
                let profile = profiles[name]
                return [name, name == profiles.standard ? "yes" : "", profile?.url ?? "", profile?.app ?? ""]
            }
            return Table(columns: columns, rows: rows).text
        }
    }
}

extension Profiles {
    struct Remove: ProfileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a profile with its key from the file.",
            discussion: "Its API key keeps working at the server. 'tally keys revoke' ends it.",
            examples: "tally profile remove local"
        )

        @Argument(help: "Its name.") var name: String
        @OptionGroup var global: GlobalOptions

        func change(_ profiles: inout ProfileFile, _ environment: [String: String]) throws -> String {
            let wasDefault = profiles.standard == name
            try profiles.remove(name)
            return "The profile '\(name)' is removed\(wasDefault ? ". There is no default now" : "")."
        }
    }
}

/// A command on the file of profiles. It calls no server.
protocol ProfileCommand: ReportingCommand {
    /// Changes the profiles, and returns what to print.
    func change(_ profiles: inout ProfileFile, _ environment: [String: String]) throws -> String
}

extension ProfileCommand {
    func carryOut() async throws {
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        guard let path = Profile.path(environment) else { throw UsageError("Set HOME or TALLY_CONFIG.") }
        let stored = try ProfileFile(Files.readPrivate(path), path: path)
        var profiles = stored
        let text = try change(&profiles, environment)
        if profiles != stored { try Files.writePrivate(Array((profiles.document.indentedText + "\n").utf8), path) }
        Terminal.print(text)
    }
}
