/// The words of 2020-12.
enum Keywords {
    /// Every word that can constrain a value or say something about it, with the vocabularies of which one must be
    /// there.
    static let vocabularies: [String: Vocabularies] = {
        let words: [(Vocabularies, [String])] = [
            (
                .core,
                [
                    "$schema", "$id", "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$defs", "$vocabulary",
                    "$comment",
                ]
            ),
            (
                .applicator,
                [
                    "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties", "patternProperties",
                    "additionalProperties", "propertyNames", "dependentSchemas", "prefixItems", "items", "contains",
                ]
            ),
            (.unevaluated, ["unevaluatedItems", "unevaluatedProperties"]),
            (
                .validation,
                [
                    "type", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
                    "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minContains",
                    "maxContains", "minProperties", "maxProperties", "required", "dependentRequired",
                ]
            ),
            (
                .metaData,
                ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"]
            ),
            ([.formatAnnotation, .formatAssertion], ["format"]),
            (.content, ["contentEncoding", "contentMediaType", "contentSchema"]),
        ]
        var vocabularies: [String: Vocabularies] = [:]
        for (vocabulary, names) in words {
            for name in names { vocabularies[name] = vocabulary }
        }
        return vocabularies
    }()

    /// Annotations whose value must be a text.
    static let textAnnotations: Set<String> = [
        "title", "description", "$comment", "contentEncoding", "contentMediaType",
    ]

    /// Words of older versions, with what has taken their place.
    static let replaced: [String: String] = [
        "definitions": "$defs", "dependencies": "dependentRequired or dependentSchemas", "additionalItems": "items",
        "id": "$id", "$recursiveRef": "$dynamicRef", "$recursiveAnchor": "$dynamicAnchor", "divisibleBy": "multipleOf",
    ]

    /// Begins the words that authors may add for themselves.
    static let ownPrefix = "x-"
    /// The Swift type that the phone decodes the value with, as a text.
    static let swiftType = "x-swift-type"
}
