/// The keywords of 2020-12.
enum Keywords {
    /// Every keyword that constrains or annotates a value, with its vocabularies. The dialect must have one of them.
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

    /// Annotations whose value must be a string.
    static let textAnnotations: Set<String> = [
        "title", "description", "$comment", "contentEncoding", "contentMediaType",
    ]

    /// Keywords of older versions, each with its replacement.
    static let replaced: [String: String] = [
        "definitions": "$defs", "dependencies": "dependentRequired or dependentSchemas", "additionalItems": "items",
        "id": "$id", "$recursiveRef": "$dynamicRef", "$recursiveAnchor": "$dynamicAnchor", "divisibleBy": "multipleOf",
    ]

    /// The prefix of authors' own annotations.
    static let ownPrefix = "x-"
    /// Names the Swift type that the phone decodes the value as; a string.
    static let swiftType = "x-swift-type"
}
