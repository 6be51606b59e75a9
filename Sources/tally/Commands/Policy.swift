import APITypes
import ActivityModel
import ArgumentParser
import Foundation
import JSON
import TallyClient

struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "How Tally treats the activities of a type.",
        discussion: "docs/reference/policy.md explains each key.",
        subcommands: [Show.self, Edit.self]
    )

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the policy of a type, with its defaults.",
            examples: "tally policy show Game"
        )

        @Argument(help: "The type's name.") var name: Checked<ActivityTypeName>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let policy = try await session.client.type(session.app(), name.value).policy.json
            session.show(line: policy.indentedText, json: policy)
        }
    }

    struct Edit: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change parts of a policy, in your editor or with --set.",
            discussion: """
                Opens the policy in $VISUAL, $EDITOR or vi. What you change applies at once, to running activities as well. A \
                key that you delete gets its default. If Tally refuses the edit, it stays in a file.
                """,
            examples: "tally policy edit Game",
            "tally policy edit Game --set '{\"start_budget\": {\"count\": 5}}'"
        )

        @Argument(help: "The type's name.") var name: Checked<ActivityTypeName>
        @Option(help: "The keys to change, as JSON or @FILE; null sets one back to its default.") var set: JSONArgument?
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            let app = try session.app()
            let stored = try await session.client.type(app, name.value).policy.json
            if let set { return try await apply(set.value(of: "--set"), to: stored, app, session) }
            let draft = try EditedDocument(stored)
            do {
                let edited = try draft.edited(by: EditedDocument.editor(ProcessInfo.processInfo.environment))
                try await apply(PolicyEdit.patch(from: stored, to: edited), to: stored, app, session)
            } catch {
                if draft.isChanged {
                    Terminal.printError(
                        """
                        Your edit is kept in \(draft.path). Correct it and remove the keys that you did not change: \
                        --set @FILE sets every key in the file. A key that you deleted keeps its value; null resets it.
                        """
                    )
                } else {
                    draft.discard()
                }
                throw error
            }
            draft.discard()
        }

        private func apply(
            _ patch: JSONValue,
            to stored: JSONValue,
            _ app: BundleID,
            _ session: CommandSession
        ) async throws {
            if patch.object?.entries.isEmpty == true { return session.show(done: "Nothing is changed.") }
            let type = try await session.client.patchType(app, name.value, TypePatch(policy: patch))
            let changes = DocumentDifference.between(stored, type.policy.json)
            let text = changes.isEmpty ? "Nothing is changed." : changes.map(\.text).joined(separator: "\n")
            session.show(line: text, json: type.policy.json)
        }
    }
}

/// What an edited policy changes.
enum PolicyEdit {
    /// The merge patch that makes `edited` of `stored`. A key that is missing gets its default.
    static func patch(from stored: JSONValue, to edited: JSONValue) -> JSONValue {
        guard let before = stored.object, let after = edited.object else { return edited }
        var patch = JSONObject()
        for (key, value) in before.entries where after[key] == nil && !value.isNull { patch[key] = .null }
        for (key, value) in after.entries {
            guard let old = before[key] else {
                patch[key] = value
                continue
            }
            if old != value { patch[key] = Self.patch(from: old, to: value) }
        }
        return .object(patch)
    }
}
