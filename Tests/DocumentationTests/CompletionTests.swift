import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import apns_sim
@testable import tally
@testable import tallyd

/// The scripts that `--generate-completion-script` prints, in the shells that they are for.
@Suite("Completions", .timeLimit(.minutes(2)))
struct CompletionTests {
    private static let programs: [(name: String, command: any ParsableCommand.Type)] = [
        ("tally", TallyCommand.self), ("tallyd", Tallyd.self), ("apns-sim", APNSSim.self),
    ]

    /// Runs `body` with the path of a file that holds a program's script.
    private func withScript<Result>(
        _ shell: CompletionShell,
        of command: any ParsableCommand.Type,
        _ body: (String) async throws -> Result
    ) async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "completions-\(UUID().uuidString)")
        try Data(command.completionScript(for: shell).utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }  // what is left over is the system's to clear
        return try await body(file.path)
    }

    /// Asks bash what it would complete, as it does when somebody presses the tabulator behind the last of the words.
    private static let question = """
        source "$1"; shift
        function=$(complete -p "$1"); function=${function#*-F }; function=${function%% *}
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
        """

    @Test(
        "bash completes commands, options and the words that an option takes",
        arguments: [
            (["tally", "act"], ["activities"]), (["tally", "activities", "e"], ["end", "explain"]),
            (["tally", "events", "--fo"], ["--follow"]),
            (["tally", "activities", "list", "--state", ""], ["ended", "live", "scheduled"]),
            (["tally", "payload", "match-1", "--format", "c"], ["curl"]),
            (["tally", "schedules", "list", "--state", "p"], ["pending"]),
            (["tally", "activities", "subscriptions", "match-1", "--state", "w"], ["waiting_for_token", "withheld"]),
            (["tallyd", "mi"], ["migrate"]), (["tallyd", "dev", "--sta"], ["--state"]),
            (["apns-sim", "phones", "cr"], ["create"]),
        ] as [([String], [String])]
    )
    func bash(words: [String], expected: [String]) async throws {
        let program = try #require(Self.programs.first { $0.name == words[0] })
        try await withScript(.bash, of: program.command) { file in
            let completed = try await Program("bash").run(["-c", Self.question, "bash", file] + words)
            #expect(completed.status == 0, "\(completed.text)")
            #expect(completed.text.split(separator: "\n").map(String.init).sorted() == expected)
        }
    }

    @Test("zsh and fish can read theirs", arguments: ["zsh", "fish"])
    func otherShells(name: String) async throws {
        let shell = try #require(CompletionShell(rawValue: name))
        let program: Program
        do {
            program = try Program(name)
        } catch {
            try Test.cancel("\(name) is not installed here")
        }
        for (_, command) in Self.programs {
            try await withScript(shell, of: command) { file in
                let read = try await program.run(["-n", file])
                #expect(read.status == 0, "\(read.text)")
            }
        }
    }
}
