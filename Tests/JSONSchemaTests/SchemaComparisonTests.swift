import JSON
import JSONSchema
import Testing

@Suite("What a new version of a schema changes")
struct SchemaComparisonTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let before: String
        let after: String
        /// `kind pointer`, in the order of the report.
        let expected: [String]
        var testDescription: String { "\(before) → \(after)" }

        init(_ before: String, _ after: String, _ expected: String...) {
            (self.before, self.after, self.expected) = (before, after, expected)
        }
    }

    static let values: [Case] = [
        Case(#"{"type":"integer"}"#, #"{"type":"string"}"#, "type_changed "),
        Case(#"{"type":"integer"}"#, #"{"type":"number"}"#, "type_widened "),
        Case(#"{"type":"number"}"#, #"{"type":"integer"}"#, "type_narrowed "),
        Case(#"{"type":"string"}"#, #"{"type":["string","null"]}"#, "type_widened "),
        Case(#"{"type":["string","null"]}"#, #"{"type":"string"}"#, "type_narrowed "),
        Case(#"{"type":"string"}"#, "true", "type_widened ", "type_widened "),
        Case("true", #"{"type":"string"}"#, "type_narrowed ", "type_narrowed "),
        Case("{}", "true"),
        Case(#"{"enum":["a","b"]}"#, #"{"enum":["b","a"]}"#),
        Case(#"{"enum":["a","b"]}"#, #"{"enum":["a","b","c"]}"#, "enum_widened /enum"),
        Case(#"{"enum":["a","b"]}"#, #"{"enum":["a"]}"#, "enum_narrowed /enum"),
        Case(#"{"enum":["a","b"]}"#, #"{"enum":["a","c"]}"#, "enum_narrowed /enum", "enum_widened /enum"),
        Case(#"{"const":1}"#, #"{"enum":[1.0,2]}"#, "enum_widened /enum"),
        Case(#"{"type":"string","enum":["a"]}"#, #"{"type":"string"}"#, "enum_widened "),
        Case(#"{"type":"string"}"#, #"{"type":"string","const":"a"}"#, "enum_narrowed /const"),
        Case(
            #"{"type":["string","null"],"enum":["a",null]}"#,
            ##"{"anyOf":[{"$ref":"#/$defs/E"},{"type":"null"}],"$defs":{"E":{"type":"string","enum":["a"]}}}"##
        ),
        Case(#"{"enum":["a"]}"#, #"{"type":"integer"}"#, "type_changed "),
        Case(#"{"enum":[1,2]}"#, #"{"type":"number"}"#, "enum_widened "),
        Case(#"{"minimum":0}"#, #"{"minimum":1}"#, "range_narrowed /minimum"),
        Case(#"{"minimum":0}"#, #"{"exclusiveMinimum":0}"#, "range_narrowed /exclusiveMinimum"),
        Case(#"{"maximum":10}"#, #"{"maximum":11}"#, "range_widened /maximum"),
        Case(#"{"maximum":10}"#, "{}", "range_widened "),
        Case(#"{"type":"string"}"#, #"{"type":"string","maxLength":9}"#, "range_narrowed /maxLength"),
        Case(#"{"type":"array","minItems":1}"#, #"{"type":"array","minItems":0}"#, "range_widened /minItems"),
        Case(#"{"type":"string"}"#, #"{"type":"string","pattern":"^a"}"#, "pattern_narrowed /pattern"),
        Case(#"{"type":"string","pattern":"^a"}"#, #"{"type":"string"}"#, "pattern_widened "),
        Case(#"{"pattern":"^a"}"#, #"{"pattern":"^b"}"#, "cannot_be_compared /pattern"),
        Case(#"{"multipleOf":2}"#, #"{"multipleOf":4}"#, "cannot_be_compared /multipleOf"),
        Case(#"{"not":{"type":"null"}}"#, #"{"not":{"type":"null"}}"#),
        Case(#"{"type":"string","title":"A","description":"x"}"#, #"{"type":"string","title":"B"}"#),
        Case(
            #"{"type":"number","x-swift-type":"Date"}"#,
            #"{"type":"number","x-swift-type":"Date(secondsSince1970)"}"#,
            "type_changed "
        ),
        Case(
            #"{"type":"number","x-swift-type":"Double"}"#,
            #"{"type":"number","x-swift-type":"Date"}"#,
            "type_changed "
        ),
        Case(#"{"type":"integer","x-swift-type":"Int"}"#, #"{"type":"integer","x-swift-type":"Score"}"#),
    ]

    @Test("Lists of any length are compared, and one that is compared with very many others not to the end")
    func longLists() throws {
        let integers = { (range: Range<Int>) in JSONValue.array(range.map { .number(JSONNumber($0)) }) }
        let differences = SchemaComparison.differences(
            from: ["enum": integers(0..<40_000)],
            to: ["enum": integers(1..<40_001)]
        )
        #expect(
            differences.map(\.message) == [
                "0 is no longer let in", "40000 is let in now; earlier versions do not know it",
            ]
        )
        let references = JSONObject((0..<5_000).map { ("m\($0)", ["$ref": "#/$defs/long"]) })
        let own = JSONObject((0..<5_000).map { ("m\($0)", ["enum": [.number(JSONNumber($0))]]) })
        let found = SchemaComparison.differences(
            from: ["properties": .object(references), "$defs": ["long": ["enum": integers(0..<20_000)]]],
            to: ["properties": .object(own)]
        )
        #expect(found.last?.kind == .incomparable)
        let same = SchemaComparison.differences(
            from: ["properties": .object(references), "$defs": ["long": ["enum": integers(0..<20_000)]]],
            to: ["properties": .object(references), "$defs": ["long": ["enum": integers(0..<20_001)]]]
        )
        #expect(same.map(\.kind) == [.enumWidened])
    }

    static let structures: [Case] = [
        Case(
            #"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#,
            #"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"]}"#,
            "required_added /required"
        ),
        Case(
            #"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}"#,
            #"{"type":"object","properties":{"a":{"type":"integer"}}}"#,
            "required_removed "
        ),
        Case(
            #"{"type":"object","properties":{"a":{"type":"integer"}}}"#,
            #"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}"#
        ),
        Case(
            #"{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}"#,
            #"{"type":"object","properties":{"a":{"type":"integer"},"b":{}},"additionalProperties":false}"#,
            "property_added /properties/b"
        ),
        Case(
            #"{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false}"#,
            #"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#,
            "property_removed /additionalProperties"
        ),
        Case(
            #"{"type":"object","unevaluatedProperties":false}"#,
            #"{"type":"object","properties":{"a":{}},"unevaluatedProperties":false}"#,
            "cannot_be_compared /properties/a"
        ),
        Case(
            #"{"properties":{"ab":{"type":"integer"}},"patternProperties":{"^a":{"type":"number"}}}"#,
            #"{"patternProperties":{"^a":{"type":"number"}}}"#,
            "cannot_be_compared "
        ),
        Case(
            #"{"type":"object"}"#,
            #"{"type":"object","additionalProperties":{"type":"integer"}}"#,
            "type_narrowed /additionalProperties"
        ),
        Case(
            #"{"type":"object","additionalProperties":{"type":"integer"}}"#,
            #"{"type":"object","additionalProperties":{"type":"string"}}"#,
            "type_changed /additionalProperties"
        ),
        Case(
            #"{"type":"array","items":{"type":"integer"}}"#,
            #"{"type":"array","items":{"type":"string"}}"#,
            "type_changed /items"
        ),
        Case(
            #"{"type":"array","prefixItems":[{"type":"integer"},{"type":"integer"}]}"#,
            #"{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}"#,
            "type_changed /prefixItems/1"
        ),
        // Behind references, which may recurse.
        Case(
            ##"{"$ref":"#/$defs/T","$defs":{"T":{"type":"object","properties":{"t":{"$ref":"#/$defs/T"},"n":{"type":"integer"}}}}}"##,
            ##"{"$ref":"#/$defs/U","$defs":{"U":{"type":"object","properties":{"t":{"$ref":"#/$defs/U"},"n":{"type":"string"}}}}}"##,
            "type_changed /$defs/U/properties/n"
        ),
        Case(
            ##"{"allOf":[{"$ref":"#/$defs/T"}],"$defs":{"T":{"type":"integer"}}}"##,
            ##"{"allOf":[{"$ref":"#/$defs/T"}],"$defs":{"T":{"type":"string"}}}"##,
            "type_changed /$defs/T"
        ),
        Case(#"{"$ref":"https://example.com/a"}"#, #"{"$ref":"https://example.com/b"}"#, "cannot_be_compared "),
        // An enum with associated values, of one case and of two.
        Case(
            #"{"type":"object","properties":{"a":{}},"required":["a"]}"#,
            #"{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
            "enum_widened /oneOf"
        ),
        Case(
            #"{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
            #"{"type":"object","properties":{"a":{},"c":{}},"oneOf":[{"required":["a"]},{"required":["c"]}]}"#,
            "enum_narrowed /oneOf",
            "enum_widened /oneOf"
        ),
    ]

    /// References that are followed in part or not at all; what they lead to has changed.
    static let references: [Case] = [
        Case(
            ##"{"$ref":"#/$defs/T","maxLength":9,"$defs":{"T":{"type":"string"}}}"##,
            ##"{"$ref":"#/$defs/T","maxLength":9,"$defs":{"T":{"type":"integer"}}}"##,
            "type_changed /$defs/T"
        ),
        Case(
            ##"{"$ref":"#/$defs/T","maxLength":9,"$defs":{"T":{"type":"string"}}}"##,
            ##"{"$ref":"#/$defs/T","maxLength":8,"$defs":{"T":{"type":"string"}}}"##,
            "range_narrowed /maxLength"
        ),
        Case(
            ##"{"$ref":"#/$defs/T","maxLength":9,"$defs":{"T":{"type":"string"}}}"##,
            ##"{"$ref":"#/$defs/T","$defs":{"T":{"type":"string"}}}"##,
            "cannot_be_compared /$defs/T"
        ),
        Case(
            ##"{"anyOf":[{"$ref":"#/$defs/T","maxLength":9},{"type":"null"}],"$defs":{"T":{"type":"string"}}}"##,
            ##"{"$ref":"#/$defs/T","maxLength":9,"$defs":{"T":{"type":"string"}}}"##,
            "cannot_be_compared "
        ),
        Case(
            ##"{"$ref":"#t","$defs":{"T":{"$anchor":"t","type":"string"}}}"##,
            ##"{"$ref":"#t","$defs":{"T":{"$anchor":"t","type":"integer"}}}"##,
            "cannot_be_compared "
        ),
        Case(
            ##"{"items":{"$dynamicRef":"#t"},"$defs":{"T":{"$dynamicAnchor":"t","type":"string"}}}"##,
            ##"{"items":{"$dynamicRef":"#t"},"$defs":{"T":{"$dynamicAnchor":"t","type":"integer"}}}"##,
            "cannot_be_compared /items"
        ),
        Case(
            ##"{"not":{"$dynamicRef":"#t"},"$defs":{"T":{"$dynamicAnchor":"t","type":"string"}}}"##,
            ##"{"not":{"$dynamicRef":"#t"},"$defs":{"T":{"$dynamicAnchor":"t","type":"integer"}}}"##,
            "cannot_be_compared /not"
        ),
        // The reference leads into the schema that is called b, not into the document.
        Case(
            ##"{"$ref":"#/$defs/b","$defs":{"T":{},"b":{"$id":"b","items":{"$ref":"#/$defs/T"},"$defs":{"T":{"type":"string"}}}}}"##,
            ##"{"$ref":"#/$defs/b","$defs":{"T":{},"b":{"$id":"b","items":{"$ref":"#/$defs/T"},"$defs":{"T":{"type":"integer"}}}}}"##,
            "cannot_be_compared "
        ),
    ]

    @Test("Differences are told with place and kind", arguments: values + structures + references)
    func differences(_ item: Case) throws {
        let found = SchemaComparison.differences(
            from: try JSONValue(parsing: item.before),
            to: try JSONValue(parsing: item.after)
        )
        #expect(found.map { "\($0.kind.rawValue) \($0.pointer)" } == item.expected)
    }

    @Test("A schema is never different from itself", arguments: values + structures + references)
    func same(_ item: Case) throws {
        // Another title, so that the documents are not equal as a whole.
        guard case .object(var object) = try JSONValue(parsing: item.after) else { return }
        object["title"] = "renamed"
        let found = SchemaComparison.differences(from: try JSONValue(parsing: item.after), to: .object(object))
        #expect(found.isEmpty)
    }

    @Test("What narrows endangers content made before; what widens, readers made before; and the way back the reverse")
    func sides() throws {
        for item in Self.values + Self.structures + Self.references {
            let (before, after) = (try JSONValue(parsing: item.before), try JSONValue(parsing: item.after))
            let there = SchemaComparison.differences(from: before, to: after)
            let back = SchemaComparison.differences(from: after, to: before)
            let sides = there.reduce(into: SchemaDifference.Sides()) { $0.formUnion($1.breaks) }
            let reverse = back.reduce(into: SchemaDifference.Sides()) { $0.formUnion($1.breaks) }
            #expect(sides.contains(.earlierContent) == reverse.contains(.earlierReaders), "\(item.testDescription)")
            #expect(sides.contains(.earlierReaders) == reverse.contains(.earlierContent), "\(item.testDescription)")
        }
    }

    @Test("A chain of references without an end in sight costs no stack")
    func deep() throws {
        let count = 3_000
        func document(_ last: String) throws -> JSONValue {
            let definitions = (0..<count).map { index in
                let next = index == count - 1 ? last : ##"{"type":"array","items":{"$ref":"#/$defs/d\##(index + 1)"}}"##
                return #""d\#(index)":\#(next)"#
            }
            return try JSONValue(parsing: ##"{"$ref":"#/$defs/d0","$defs":{\##(definitions.joined(separator: ","))}}"##)
        }
        let found = SchemaComparison.differences(
            from: try document(#"{"type":"integer"}"#),
            to: try document(#"{"type":"string"}"#)
        )
        #expect(found.map(\.kind) == [.incomparable])
    }
}
