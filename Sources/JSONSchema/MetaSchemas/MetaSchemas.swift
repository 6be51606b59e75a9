internal import JSON

/// The documents that describe 2020-12 itself, as published at json-schema.org. Schemas may refer to them.
enum MetaSchemas {
    /// The dialect's own name.
    static let dialect = "https://json-schema.org/draft/2020-12/schema"

    /// The document of that URI; `nil` if it is none of these.
    static func document(_ uri: String) -> JSONValue? {
        guard let bytes = texts[uri] else { return nil }
        // The texts are part of the program and read by its tests.
        return try? JSONValue.parse(bytes)
    }

    private static let texts: [String: [UInt8]] = [
        dialect: PackageResources.schema_json,
        meta("core"): PackageResources.core_json,
        meta("applicator"): PackageResources.applicator_json,
        meta("unevaluated"): PackageResources.unevaluated_json,
        meta("validation"): PackageResources.validation_json,
        meta("meta-data"): PackageResources.meta_data_json,
        meta("format-annotation"): PackageResources.format_annotation_json,
        meta("format-assertion"): PackageResources.format_assertion_json,
        meta("content"): PackageResources.content_json,
    ]

    private static func meta(_ name: String) -> String { "https://json-schema.org/draft/2020-12/meta/" + name }
}
