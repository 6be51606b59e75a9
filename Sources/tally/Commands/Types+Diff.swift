import APITypes
import ActivityModel
import ArgumentParser
import JSON
import SwiftContent
import TallyClient

extension Types {
    /// Compares two versions of a type before the second one is registered.
    struct Diff: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what a new version of a type breaks; exit code 1 if it breaks anything.",
            discussion: """
                One file is compared with the version that is registered, two with each other, the earlier one first. A file \
                is a Swift file, or JSON with attributes_schema and content_state_schema, as types import --print and types \
                show --json write it. Two files need no server.
                """,
            examples: "tally types diff old.swift new.swift"
        )

        @Argument(help: ArgumentHelp("A Swift or JSON file.", valueName: "file")) var file: String
        @Argument(help: ArgumentHelp("The later version.", valueName: "later")) var later: String?
        @OptionGroup var reading: SwiftReadingOptions
        @OptionGroup var app: AppOption

        var appName: String? { app.app }
        var global: GlobalOptions { app.global }

        func carryOut() async throws {
            let given = try await SchemaFiles.read([file], reading)
            let report: DiffReport
            if let later {
                report = DiffReport(from: given, to: try await SchemaFiles.read([later], reading))
            } else {
                report = DiffReport(from: try await registered(given.typeName), to: given)
            }
            global.format == .json ? Terminal.print(json: report.json) : Terminal.print(report.text)
            if report.breaksSomething { throw ExitCode.failure }
        }

        private func registered(_ typeName: String) async throws -> ImportedSchemas {
            guard let name = reading.type?.value ?? ActivityTypeName(typeName) else {
                throw UsageError("Which type? Give --type.")
            }
            let session = try session()
            let type = try await session.client.type(session.app(), name)
            return ImportedSchemas(
                typeName: name.rawValue,
                attributes: type.attributesSchema,
                contentState: type.contentStateSchema
            )
        }
    }
}
