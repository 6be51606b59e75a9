import APITypes
import ActivityModel
import ArgumentParser
import JSON
import TallyClient

struct Types: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Activity types: schemas and policy.",
        subcommands: [
            Import.self, Lint.self, Diff.self, Put.self, List.self, Show.self, Versions.self, Retire.self,
            Validate.self,
        ]
    )

    struct Put: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a type, or a new version of it.",
            examples: "tally types put Game --swift GameAttributes.swift --policy policy.json"
        )

        @Argument(help: "The name of the Swift ActivityAttributes struct.") var name: Checked<ActivityTypeName>
        @Option(help: "A file with the JSON Schema of the attributes.") var attributesSchema: String?
        @Option(help: "A file with the JSON Schema of the content state.") var contentStateSchema: String?
        @Option(help: "A Swift file that declares the struct, in place of the schemas.") var swift: String?
        @OptionGroup var supplied: SuppliedSchemaOptions
        @Option(help: "A file with the policy; without one, what is stored stays.") var policy: String?
        @Option(help: "The oldest version of the app that understands it.") var minAppVersion: Checked<AppVersion>?
        @Flag(help: "Register it even if it breaks running activities.") var force = false
        @OptionGroup var app: AppOption

        func validate() throws {
            let schemas = [attributesSchema, contentStateSchema].compactMap { $0 }.count
            guard swift == nil ? schemas == 2 && supplied.supply.isEmpty : schemas == 0 else {
                throw ValidationError(
                    "Give --attributes-schema and --content-state-schema, or --swift with any --supply."
                )
            }
        }

        func request() throws -> TypeRequest {
            var body = JSONObject()
            if let attributesSchema { body["attributes_schema"] = try Files.readJSON(attributesSchema) }
            if let contentStateSchema { body["content_state_schema"] = try Files.readJSON(contentStateSchema) }
            if let swift { body["swift_source"] = .string(try Files.readText(swift)) }
            let supplied = try supplied.schemas()
            if !supplied.isEmpty { body["supplied_schemas"] = .object(JSONObject(supplied.map { ($0.key, $0.value) })) }
            if let policy { body["policy"] = try Files.readJSON(policy) }
            if let minAppVersion { body["min_app_version"] = .string(minAppVersion.value.description) }
            return try TypeRequest(json: .object(body))
        }

        func run(_ session: CommandSession) async throws {
            try await session.register(session.app(), name.value, request(), force: force)
        }
    }

    struct List: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "The types of an app.",
            examples: "tally types list"
        )

        @OptionGroup var page: PageOptions
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.types(session.app(), page.request))
        }
    }

    struct Show: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "One type with its schemas and policy.",
            examples: "tally types show Game"
        )

        @Argument(help: "The type's name.") var name: Checked<ActivityTypeName>
        @OptionGroup var app: AppOption

        func run(_ session: CommandSession) async throws {
            session.show(try await session.client.type(session.app(), name.value))
        }
    }

    struct Validate: AppCommand {
        static let configuration = CommandConfiguration(
            abstract: "Judge content without sending it; exit code 1 if a phone could not decode it.",
            examples: "tally types validate Game --content-state '{\"score\": 1}'"
        )

        @Argument(help: "The type's name.") var name: Checked<ActivityTypeName>
        @Option(help: "JSON, or @FILE.") var attributes: JSONArgument?
        @Option(help: "JSON, or @FILE.") var contentState: JSONArgument?
        @OptionGroup var app: AppOption

        func validate() throws {
            if attributes == nil, contentState == nil {
                throw ValidationError("Give --attributes, --content-state or both.")
            }
        }

        func run(_ session: CommandSession) async throws {
            let request = ValidationRequest(
                attributes: try attributes?.object(of: "--attributes"),
                contentState: try contentState?.object(of: "--content-state")
            )
            let answer = try await session.client.validateContent(session.app(), name.value, request)
            session.show(answer)
            if !answer.valid { throw ExitCode.failure }
        }
    }
}
