import APITypes
import ArgumentParser
import JSON
import SwiftContent

extension Types {
    /// Checks schemas before anybody depends on them. Calls no server.
    struct Lint: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say what is doubtful about the schemas of a type, and how large its content can get.",
            discussion: """
                The files are Swift files, or one JSON file with attributes_schema and content_state_schema, as types \
                import --print and types show --json write it.
                """,
            examples: "tally types lint GameAttributes.swift"
        )

        @Argument(help: ArgumentHelp("Swift files, or one JSON file.", valueName: "file")) var files: [String]
        @OptionGroup var reading: SwiftReadingOptions
        @Flag(help: "Exit code 1 if anything is doubtful.") var strict = false
        @OptionGroup var global: GlobalOptions

        func carryOut() async throws {
            let report = LintReport(try await SchemaFiles.read(files, reading))
            global.format == .json ? Terminal.print(json: report.json) : Terminal.print(report.text)
            if strict, !report.findings.isEmpty { throw ExitCode.failure }
        }
    }
}
