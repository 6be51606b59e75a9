import APITypes
import ActivityModel
import ArgumentParser
import JSON
import SwiftSchemaImport
import TallyClient

extension Types {
    /// Makes the schemas here, so that several files and supplied schemas can take part, and registers them.
    struct Import: ClientCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make the schemas from the Swift files that declare the type, and register them.",
            discussion: """
                The files together declare an ActivityAttributes struct with its ContentState and the types that both \
                hold. For a type that cannot be read, such as one with its own init(from:), supply a JSON Schema.
                """
        )

        @Argument(help: ArgumentHelp("Swift files.", valueName: "file.swift")) var files: [String]
        @Option(help: "Which ActivityAttributes struct, where there are several.") var type: Checked<ActivityTypeName>?
        @Option(help: ArgumentHelp("A file with the JSON Schema of a type; repeat.", valueName: "type=file"))
        var supply: [String] = []
        @Flag(help: "Print the schemas and register nothing.") var print = false
        @Option(help: "A file with the policy; without one, what is stored stays.") var policy: String?
        @Option(help: "The oldest version of the app that understands it.") var minAppVersion: Checked<AppVersion>?
        @Flag(help: "Register it even if it breaks running activities.") var force = false
        @OptionGroup var app: AppOption
        @OptionGroup var global: GlobalOptions

        var appName: String? { app.app }

        mutating func run() async throws {
            do {
                guard print else { return try await run(session()) }
                let imported = try schemas()
                var fields = ObjectWriter()
                fields.add("type", imported.typeName)
                fields.add("attributes_schema", imported.attributes)
                fields.add("content_state_schema", imported.contentState)
                Console.print(fields.json.indentedText)
            } catch {
                throw reported(error)
            }
        }

        func run(_ session: Session) async throws {
            let imported = try schemas()
            guard let name = ActivityTypeName(imported.typeName) else {
                throw UsageError("'\(imported.typeName)' cannot be the name of an activity type.")
            }
            let request = TypeRequest(
                source: .schemas(attributes: imported.attributes, contentState: imported.contentState),
                policy: try policy.map { try Policy(json: Files.readJSON($0)) },
                minAppVersion: minAppVersion?.value
            )
            session.show(try await session.client.putType(session.app(), name, request, force: force))
        }

        /// The schemas of the files.
        func schemas() throws -> ImportedSchemas {
            let sources = try files.map { SwiftSource(name: $0, text: try Files.readText($0)) }
            var supplied: [String: JSONValue] = [:]
            for argument in supply {
                let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2 else { throw UsageError("--supply \(argument) is not type=file.") }
                supplied[parts[0]] = try Files.readJSON(parts[1])
            }
            return try ImportedSchemas(sources, typeName: type?.value.rawValue, supplied: supplied)
        }
    }
}
