internal import JSON

/// The meta-schemas of 2020-12, as published at json-schema.org. Schemas may refer to them.
enum MetaSchemas {
    /// The URI of the dialect.
    static let dialect = "https://json-schema.org/draft/2020-12/schema"

    /// The meta-schema of that URI; `nil` for any other URI.
    static func document(_ uri: String) -> JSONValue? {
        guard let bytes = texts[uri] else { return nil }
        // Parsing cannot fail: the texts are part of the program, and its tests parse them.
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
