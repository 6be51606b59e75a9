import APITypes
import JSON
import JSONSchema
import SwiftContent

/// The two schemas of a type, from files.
enum SchemaFiles {
    /// Reads Swift files, or one JSON file with both schemas as `types import --print` and `types show --json` print
    /// it.
    ///
    /// - Throws: ``UsageError`` for any other file; the importer's error for Swift files.
    static func read(_ paths: [String], _ options: SwiftReadingOptions) async throws -> ImportedSchemas {
        if paths.allSatisfy({ $0.hasSuffix(".swift") }) { return try await options.schemas(of: paths) }
        guard paths.count == 1, let path = paths.first else {
            throw UsageError("Give Swift files, or one JSON file with both schemas.")
        }
        let json = try Files.readJSON(path)
        return ImportedSchemas(
            typeName: json["type"]?.string ?? json["name"]?.string ?? path,
            attributes: try schema("attributes_schema", of: json, path),
            contentState: try schema("content_state_schema", of: json, path)
        )
    }

    private static func schema(_ field: String, of json: JSONValue, _ path: String) throws -> JSONValue {
        guard let document = json[field] else { throw UsageError("\(path) has no '\(field)'.") }
        do {
            _ = try CompiledSchema(document)
        } catch {
            throw UsageError("\(path) at '/\(field)\(error.pointer)': \(error.message)")
        }
        return document
    }
}
