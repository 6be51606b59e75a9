import ActivityModel
import ArgumentParser
import JSON
import SwiftContent
import SwiftImporter

/// Options for making schemas from Swift files.
struct SwiftReadingOptions: ParsableArguments {
    @Option(help: "Which ActivityAttributes struct, if there are several.") var type: Checked<ActivityTypeName>?
    @OptionGroup var supplied: SuppliedSchemaOptions

    /// The schemas made from the files.
    func schemas(of files: [String]) async throws -> ImportedSchemas {
        let sources = try files.map { SwiftSource(name: $0, text: try Files.readText($0)) }
        let request = ImportRequest(sources, typeName: type?.value.rawValue, supplied: try supplied.schemas())
        switch try await SwiftImporter().answer(to: request) {
        case .made(let schemas): return schemas
        case .refused(let error): throw error
        }
    }
}

/// Schemas for types that the Swift files do not explain.
struct SuppliedSchemaOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A file with the JSON Schema of a Swift type; repeat.", valueName: "type=file"))
    var supply: [String] = []

    /// The schemas by type name.
    func schemas() throws -> [String: JSONValue] {
        var schemas: [String: JSONValue] = [:]
        for argument in supply {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw UsageError("--supply \(argument) is not type=file.") }
            schemas[parts[0]] = try Files.readJSON(parts[1])
        }
        return schemas
    }
}
