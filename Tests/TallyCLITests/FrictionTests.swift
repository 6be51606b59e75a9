import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import Testing

@testable import tally

@Suite("What a command line takes and says")
struct FrictionTests {
    @Test(
        "A length of time has a unit, or is in seconds",
        arguments: [
            ("90", 90.0), ("90s", 90), ("10m", 600), ("1.5h", 5_400), ("7d", 604_800), ("0", 0), ("0.5s", 0.5),
        ]
    )
    func spans(text: String, seconds: Double) {
        #expect(Span(commandLine: text)?.seconds == seconds)
    }

    @Test(
        "Text that is no length of time is refused",
        arguments: ["", "m", "10 m", "-1", "1w", "1e3", "nan", "1h30m", "99999999d"]
    )
    func notSpans(text: String) {
        #expect(Span(commandLine: text) == nil)
    }

    @Test("A moment is a time, or how long ago")
    func moments() throws {
        let now = Date(timeIntervalSince1970: 1_000)
        #expect(PointInTime(commandLine: "10m")?.instant(now: now) == Instant(unixSeconds: 400))
        #expect(PointInTime(commandLine: "1970-01-01T00:00:05Z")?.instant(now: now) == Instant(unixSeconds: 5))
        #expect(PointInTime(commandLine: "yesterday") == nil)
        let end = try #require(
            try TallyCommand.parseAsRoot(["activities", "end", "m", "--dismiss-after", "15m"]) as? Activities.End
        )
        #expect(try end.request().dismissal == .after(seconds: 900))
    }

    @Test(
        "A command that there is not is told with the one that was meant",
        arguments: [
            ("activites list", "tally", "activities"), ("activities lst", "tally activities", "list"),
            ("user show ada", "tally", "users"), ("apps xyz", "tally apps", nil),
        ]
    )
    func unknownCommands(line: String, parent: String, meant: String?) throws {
        let unknown = try #require(UnknownCommand(line.split(separator: " ").map(String.init)))
        #expect(unknown.suggestion == meant)
        #expect(unknown.text.contains("'\(parent)' has no command"))
        if let meant { #expect(unknown.text.contains("Did you mean '\(parent) \(meant)'?")) }
    }

    @Test("A command that is elsewhere is told with its place")
    func elsewhere() throws {
        let unknown = try #require(UnknownCommand(["halts", "resume", "com.example.app"]))
        #expect(unknown.text.contains("Did you mean 'tally apps resume'?"), "\(unknown.text)")
        #expect(UnknownCommand(["apps", "resume"]) == nil)
    }

    @Test("The help of every option that takes a moment shows one")
    func momentExamples() {
        for (words, options) in [
            (["activities", "start"], ["starts-at", "ends-at"]), (["activities", "update"], ["event-time", "at"]),
            (["activities", "end"], ["dismiss-at", "at"]), (["keys", "create"], ["expires"]),
        ] {
            let help = Self.help(words).components(separatedBy: "\n  --")
            for option in options {
                let text = help.first { $0.hasPrefix("\(option) <") }
                #expect(text?.contains("2026-03-01T17:00:00Z") == true, "\(option): \(help)")
            }
        }
    }

    private static func help(_ words: [String]) -> String {
        let root: any ParsableCommand.Type = TallyCommand.self
        let command = words.reduce(root) { command, word in
            command.configuration.subcommands.first { $0._commandName == word } ?? command
        }
        return TallyCommand.helpMessage(for: command, includeHidden: false, columns: 1_000)
    }

    @Test("The help tells which commands have an exit code more, and that nothing is asked without a terminal")
    func exitCodes() {
        let help = Self.help([])
        for command in ["`doctor`", "`activities watch`", "`activities test-card`", "`apply --dry-run`"] {
            #expect(help.contains(command))
        }
        for words in [["apply"], ["apps", "delete"], ["users", "erase"]] {
            let help = Self.help(words)
            #expect(help.contains("Without a terminal, the command asks nothing."), "\(help)")
        }
    }

    @Test(
        "Every command is known, and so is help",
        arguments: ["activities list", "events", "help apps", "--help", "apps --help"]
    )
    func knownCommands(line: String) {
        #expect(UnknownCommand(line.split(separator: " ").map(String.init)) == nil)
    }

    @Test("The form of the output stands before or after the command; --json is one of them")
    func formats() throws {
        for (line, format) in [
            ("-o wide apps list", OutputFormat.wide), ("apps list --output json", .json), ("apps list --json", .json),
            ("--output=table apps list", .table), ("apps list", .table),
        ] {
            let words = GlobalOptionOrder.behindCommand(line.split(separator: " ").map(String.init))
            let command = try #require(try TallyCommand.parseAsRoot(words) as? Apps.List)
            #expect(command.global.format == format, "\(line)")
        }
    }

    @Test("A profile is saved, chosen and listed without its key; what else the file holds stays")
    func profiles() throws {
        var file = try ProfileFile(Array(#"{"note": 1}"#.utf8), path: "config.json")
        let add = try #require(
            try TallyCommand.parseAsRoot(["profile", "add", "local", "--url", "http://a", "--key", "k"])
                as? Profiles.Add
        )
        let saved = try add.change(&file, ["TALLY_APP": "com.example.a"])
        #expect(saved == "The profile 'local' is saved, and is the default.")
        let replaced = try add.change(&file, ["TALLY_APP": "com.example.a"])
        #expect(replaced == "The profile 'local' is replaced, and is the default.")
        let other = try #require(try TallyCommand.parseAsRoot(["profile", "add", "live"]) as? Profiles.Add)
        _ = try other.change(&file, ["TALLY_URL": "https://b", "TALLY_API_KEY": "secret"])
        #expect(file["local"] == Profile(url: "http://a", key: "k", app: "com.example.a"))
        #expect(file.standard == "local")
        try file.use("live")
        #expect(file.standard == "live")
        #expect(file["live"]?.key == "secret")
        #expect(file.document["note"] == 1)
        #expect(!file.listing.text.contains("secret"))
        #expect(throws: UsageError.self) { try file.use("none") }
        #expect(throws: UsageError.self) { try other.change(&file, [:]) }
        let found = try Profile.find(named: nil, environment: ["TALLY_CONFIG": "x"]) { _ in
            Array(file.document.text.utf8)
        }
        #expect(found == file["live"])
    }

    @Test("A profile is removed; if it was the default, there is none")
    func removedProfile() throws {
        var file = try ProfileFile(nil, path: "config.json")
        for name in ["local", "live"] { file.add(Profile(url: "http://a", key: "k"), as: name) }
        func remove(_ name: String) throws -> String {
            let command = try TallyCommand.parseAsRoot(["profile", "remove", name])
            return try #require(command as? Profiles.Remove).change(&file, [:])
        }
        #expect(try remove("live") == "The profile 'live' is removed.")
        #expect(file.names == ["local"] && file.standard == "local")
        #expect(throws: UsageError("There is no profile 'live'; there are: local.")) { try remove("live") }
        #expect(try remove("local") == "The profile 'local' is removed. There is no default now.")
        #expect(file.names.isEmpty && file.standard == nil)
    }

    @Test("The file of profiles is its owner's alone")
    func privateFile() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tally-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "deep/config.json").path
        for text in ["one", "two"] {
            try Files.writePrivate(Array(text.utf8), path)
            #expect(try Files.readPrivate(path) == Array(text.utf8))
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("An edited policy becomes a patch of what was changed; a deleted key gets its default")
    func policyEdit() {
        let stored: JSONValue = ["a": 1, "b": ["c": 2, "d": 3], "e": 4, "f": nil, "rules": [1]]
        let edited: JSONValue = ["a": 1, "b": ["c": 5, "d": 3], "rules": [], "g": 6]
        #expect(PolicyEdit.patch(from: stored, to: edited) == ["e": nil, "b": ["c": 5], "rules": [], "g": 6])
        #expect(PolicyEdit.patch(from: stored, to: stored) == [:])
    }

    @Test("Two documents differ in places")
    func differences() {
        let before: JSONValue = ["a": 1, "b": ["c": 2], "d": [1]]
        let after: JSONValue = ["b": ["c": 3, "e": true], "d": [1]]
        #expect(
            DocumentDifference.between(before, after).map(\.text) == ["- /a: 1", "~ /b/c: 2 → 3", "+ /b/e: true"]
        )
        #expect(DocumentDifference.between(after, after).isEmpty)
    }
}
