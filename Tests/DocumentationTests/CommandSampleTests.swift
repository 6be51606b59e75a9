import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import apns_sim
@testable import tally
@testable import tally_chaos
@testable import tallyd

/// Every command of ours that a document shows is one that the programs take.
@Suite("Commands in the documents")
struct CommandSampleTests {
    @Test(
        "every script is one that bash can read, and every command of ours has the arguments that it knows",
        arguments: Document.all
    )
    func commands(page: Document) async throws {
        for block in try page.blocks() where block.language == "sh" {
            let checked = try await Program("bash").run(["-n", "-c", block.text])
            #expect(checked.status == 0, "\(block.text)\n\(checked.text)")
            for words in ShellWords.commands(in: block.text) {
                guard let error = Self.error(words) else { continue }
                Issue.record("\(words.joined(separator: " ")): \(error)")
            }
        }
    }

    @Test("every command of ours that the console shows is one that the programs take")
    func console() throws {
        var commands: [[String]] = []
        for path in Document.files(in: "Sources/Console", ending: ".swift") {
            let text = try Document(path: path).text().replacing("\\\\\n", with: "")
            for match in text.matches(of: /<(?:code|pre[^>]*)>(tally [^<]+)</) {
                commands += ShellWords.commands(in: String(match.output.1))
            }
        }
        #expect(commands.count >= 3)
        for words in commands {
            if let error = Self.error(words) { Issue.record("\(words.joined(separator: " ")): \(error)") }
        }
    }

    @Test("every script of ours that a page names is there and can be run", arguments: Document.all)
    func scripts(page: Document) throws {
        for match in try page.text().matches(of: /(?:^|[\s`(])((?:tools|\.ci)\/[a-z-]+)(?=$|[\s`),.:;])/) {
            let script = String(match.output.1)
            let path = Document.root.appending(path: script).path
            #expect(FileManager.default.isExecutableFile(atPath: path), "\(script)")
        }
    }

    /// What the program says of the command; nil if nothing, or if it is not one of ours.
    private static func error(_ words: [String]) -> String? {
        // Settings may stand before a command, and a program may be named by the folder of the build.
        let command = words.drop { $0.contains(/^[A-Z_]+=/) }
        let name = command.first.map {
            $0.hasPrefix(".build/") ? $0.split(separator: "/").last.map(String.init) ?? $0 : $0
        }
        let arguments = Array(command.dropFirst()).filter { $0 != "--help" }
        func complaint(_ parser: any ParsableCommand.Type) -> String? {
            do {
                _ = try parser.parseAsRoot(arguments)
                return nil
            } catch {
                return parser.exitCode(for: error) == .success ? nil : parser.message(for: error)
            }
        }
        switch name {
        case "tally": return complaint(TallyCommand.self)
        case "tallyd": return complaint(Tallyd.self)
        case "apns-sim": return complaint(APNSSim.self)
        case "tools/chaos": return complaint(ChaosCommand.self)
        default: return nil
        }
    }

    @Test("a command that a program does not know is found, also behind settings and in the folder of the build")
    func wrong() {
        for words in [
            ["tally", "nonsense"], ["tally", "apps", "list", "--nonsense"], ["TALLY_URL=x", "tally", "nonsense"],
            [".build/release/tallyd", "nonsense"], ["apns-sim", "--nonsense"], ["tools/chaos", "--nonsense"],
        ] {
            #expect(Self.error(words) != nil, "\(words)")
        }
        #expect(Self.error(["TALLY_DATABASE_URL=x", "tallyd", "config"]) == nil)
    }

    @Test("the help of every command of tally has an example that the program takes")
    func examples() {
        func check(_ command: any ParsableCommand.Type, _ words: [String]) {
            let configuration = command.configuration
            guard configuration.subcommands.isEmpty else {
                for next in configuration.subcommands { check(next, words + [next._commandName]) }
                return
            }
            let lines = configuration.discussion.split(separator: "\n").filter { $0.hasPrefix("  tally ") }
            #expect(!lines.isEmpty, "\(words.joined(separator: " "))")
            for line in lines {
                for example in ShellWords.commands(in: String(line)) {
                    #expect(Array(example.prefix(words.count)) == words)
                    #expect(Self.error(example) == nil, "\(line)")
                }
            }
        }
        check(TallyCommand.self, ["tally"])
    }

    @Test("the reader of scripts takes quotes, comments and lines that go on as a shell does")
    func words() {
        let script = """
            export A=1  # tally nothing
            tally activities start m --attributes '{"a": 1}' \\
                --alert-title "Ajax – PSV"
            cat x | tally replay y && tallyd migrate
            """
        #expect(
            ShellWords.commands(in: script) == [
                ["export", "A=1"],
                ["tally", "activities", "start", "m", "--attributes", #"{"a": 1}"#, "--alert-title", "Ajax – PSV"],
                ["cat", "x"], ["tally", "replay", "y"], ["tallyd", "migrate"],
            ]
        )
    }
}
