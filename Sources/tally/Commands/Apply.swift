import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

struct Apply: ClientCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make apps, types and policies what the files of a folder say, after showing what differs.",
        discussion: """
            FOLDER/BUNDLE-ID/app.json is what the API takes to register an app, FOLDER/BUNDLE-ID/types/NAME.json what it takes to \
            register a type. A text that begins with @ names a file next to it, such as "policy": "@game-policy.json". Apps and \
            types without a file stay as they are.

            Exit codes: 2 --dry-run found differences.
            """,
        examples: "tally apply -f tally/ --dry-run",
        "tally apply -f tally/ --yes"
    )

    @Option(name: [.customShort("f"), .long], help: "The folder.") var folder: String
    @Flag(help: "Only show what differs.") var dryRun = false
    @Flag(help: "Do not ask first. Without a terminal, the command asks nothing.") var yes = false
    @Flag(help: "Register types even if they break running activities.") var force = false
    @OptionGroup var global: GlobalOptions

    func run(_ session: CommandSession) async throws {
        var plan: [PlannedChange] = []
        for app in try DeclaredApp.read(folder) { plan += try await app.plan(session.client, force: force) }
        guard !plan.isEmpty else { return session.show(line: "Nothing differs.", json: Self.json(plan)) }
        session.show(line: plan.map(\.text).joined(separator: "\n"), json: Self.json(plan))
        if dryRun { throw Self.differs }
        let question =
            "Apply \(plan.count == 1 ? "this change" : "these \(plan.count) changes") at \(session.url)? [y/N] "
        try Confirmation().agree(question, given: yes)
        for change in plan {
            try await change.apply(session.client)
            session.show(done: "\(change.subject): applied.")
        }
    }

    private static let differs = ExitCode(2)

    private static func json(_ plan: [PlannedChange]) -> JSONValue {
        ["changes": .array(plan.map(\.json))]
    }
}

/// One request that brings an app or a type to what its file says.
struct PlannedChange {
    /// Such as `type Game of com.example.app`.
    let subject: String
    let isNew: Bool
    let differences: [DocumentDifference]
    let apply: @Sendable (TallyClient) async throws -> Void

    var text: String {
        let lines = isNew ? ["  is new"] : differences.map { "  " + $0.text }
        return ([subject] + lines).joined(separator: "\n")
    }

    var json: JSONValue {
        let items = differences.map { difference -> JSONValue in
            var fields = ObjectWriter()
            fields.add("pointer", difference.place.description)
            fields.add("before", difference.before)
            fields.add("after", difference.after)
            return fields.json
        }
        return ["subject": .string(subject), "new": .bool(isNew), "differences": .array(items)]
    }
}
