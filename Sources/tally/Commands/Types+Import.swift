import APITypes
import ActivityModel
import ArgumentParser
import JSON
import SwiftContent
import TallyClient

extension Types {
    /// Makes the schemas in this process, so that it can combine several files and supplied schemas, then registers
    /// them.
    struct Import: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make the schemas from the Swift files that declare the type, and register them.",
            discussion: """
                The files together declare an ActivityAttributes struct with its ContentState and the types that both \
                hold. For a type that cannot be read, such as one with its own init(from:), supply a JSON Schema.
                """,
            examples: "tally types import GameAttributes.swift"
        )

        @Argument(help: ArgumentHelp("Swift files.", valueName: "file.swift")) var files: [String]
        @OptionGroup var reading: SwiftReadingOptions
        @Flag(help: "Print the schemas and register nothing.") var print = false
        @Option(help: "A file with the policy; without one, what is stored stays.") var policy: String?
        @Option(help: "The oldest version of the app that understands it.") var minAppVersion: Checked<AppVersion>?
        @Flag(help: "Register it even if it breaks running activities.") var force = false
        @OptionGroup var app: AppOption

        func carryOut() async throws {
            guard print else { return try await run(session()) }
            let imported = try await reading.schemas(of: files)
            var fields = ObjectWriter()
            fields.add("type", imported.typeName)
            fields.add("attributes_schema", imported.attributes)
            fields.add("content_state_schema", imported.contentState)
            global.format == .json ? Terminal.print(json: fields.json) : Terminal.print(fields.json.indentedText)
        }

        func run(_ session: CommandSession) async throws {
            let imported = try await reading.schemas(of: files)
            guard let name = ActivityTypeName(imported.typeName) else {
                throw UsageError("'\(imported.typeName)' cannot be the name of an activity type.")
            }
            let request = TypeRequest(
                source: .schemas(attributes: imported.attributes, contentState: imported.contentState),
                policy: try policy.map { try Policy(json: Files.readJSON($0)) },
                minAppVersion: minAppVersion?.value
            )
            try await session.register(session.app(), name, request, force: force)
        }
    }
}
