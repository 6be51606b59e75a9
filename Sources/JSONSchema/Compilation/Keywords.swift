/// The words of 2020-12 that have no rule of their own here.
enum Keywords {
    /// Say something about a schema and constrain nothing. `format` is one of them by the specification's default.
    static let annotations: Set<String> = [
        "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "$comment",
    ]

    /// Annotations whose value must be a text.
    static let textAnnotations: Set<String> = ["title", "description", "format", "$comment"]

    /// In 2020-12, but not checked here; a schema that has one is refused.
    static let unsupported: Set<String> = [
        "pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$dynamicAnchor",
        "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema",
    ]

    /// Words of older versions, with what has taken their place.
    static let replaced: [String: String] = [
        "definitions": "$defs", "dependencies": "dependentRequired or dependentSchemas", "additionalItems": "items",
        "id": "$id", "$recursiveRef": "$ref", "$recursiveAnchor": "$anchor", "divisibleBy": "multipleOf",
    ]

    /// Begins the words that authors may add for themselves.
    static let ownPrefix = "x-"
    /// The one version that is read.
    static let dialect = "https://json-schema.org/draft/2020-12/schema"
}
