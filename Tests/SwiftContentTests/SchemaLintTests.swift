import Foundation
import JSON
import JSONSchema
import SwiftContent
import Testing

/// A schema, and all that is said about it: code and place.
private struct LintCase: Sendable, CustomTestStringConvertible {
    let schema: JSONValue
    let findings: [String]
    let testDescription: String

    init(_ name: String, _ schema: JSONValue, _ findings: String...) {
        testDescription = name
        self.schema = schema
        self.findings = findings
    }
}

/// An object in which one property is optional, so that only its other properties are worth a word.
private func object(_ properties: JSONObject, required: [JSONValue] = []) -> JSONValue {
    ["type": "object", "properties": .object(properties), "required": .array(required)]
}

private let cases: [LintCase] = [
    LintCase("nothing", object(["score": ["type": "integer"], "isLive": ["type": "boolean"]])),
    LintCase(
        "all required",
        object(["score": ["type": "integer"], "minute": ["type": "integer"]], required: ["score", "minute"]),
        "no_optionals "
    ),
    LintCase(
        "all required, behind a reference",
        [
            "$ref": "#/$defs/State",
            "$defs": ["State": object(["a": ["type": "boolean"], "b": ["type": "boolean"]], required: ["a", "b"])],
        ],
        "no_optionals /$defs/State"
    ),
    LintCase("one property alone", object(["score": ["type": "integer"]], required: ["score"])),
    LintCase(
        "texts",
        object([
            "a": ["type": "string"], "b": ["type": "string", "maxLength": 20], "c": ["enum": ["x"]],
            "d": ["type": "string", "x-swift-type": "UUID"], "e": ["type": ["string", "null"]],
            "f": ["type": "string", "x-swift-type": "String"],
        ]),
        "unbounded_string /properties/a",
        "unbounded_string /properties/e"
    ),
    LintCase("values", object(["period": ["enum": ["first", "second"]]]), "closed_enum /properties/period"),
    LintCase(
        "lists",
        object([
            "a": ["type": "array", "items": ["type": "boolean"]],
            "b": ["type": "array", "items": ["type": "boolean"], "maxItems": 5],
            "c": ["type": "array"],
            "d": ["type": "array", "prefixItems": [["type": "integer"]], "maxItems": 1],
            "e": ["type": "array", "items": ["type": ["integer", "null"]], "maxItems": 5],
        ]),
        "unbounded_array /properties/a",
        "unchecked /properties/c",
        "unavoidable_null /properties/e/items"
    ),
    LintCase(
        "dictionaries",
        object([
            "a": ["type": "object", "additionalProperties": ["type": "boolean"]],
            "b": [
                "type": "object", "maxProperties": 2,
                "additionalProperties": ["anyOf": [["type": "boolean"], ["type": "null"]]],
            ],
        ]),
        "unbounded_object /properties/a",
        "unavoidable_null /properties/b/additionalProperties"
    ),
    LintCase(
        "counts",
        object([
            "homeScore": ["type": "number"], "goals": ["type": ["number", "null"], "x-swift-type": "Double"],
            "minute": ["type": "number", "multipleOf": 1], "scoreRatio": ["type": "number"],
            "count": ["type": "number", "x-swift-type": "Decimal"], "rank": ["type": "integer"],
        ]),
        "float_for_count /properties/homeScore",
        "float_for_count /properties/goals"
    ),
    LintCase(
        "wide integers",
        object([
            "matchID": ["type": "integer"], "seatId": ["type": "integer", "minimum": 0, "maximum": 99],
            "a": ["type": "integer", "x-swift-type": "Int64"], "b": ["type": "integer", "x-swift-type": "Int32"],
            "c": ["type": "integer", "maximum": 9_007_199_254_740_993],
            "d": [
                "type": "integer", "x-swift-type": "Int", "minimum": -9_223_372_036_854_775_807,
                "maximum": 9_223_372_036_854_775_807,
            ],
        ]),
        "inexact_integer /properties/matchID",
        "inexact_integer /properties/a",
        "inexact_integer /properties/c"
    ),
    LintCase(
        "nulls",
        object(["a": ["type": ["integer", "null"]], "b": ["type": ["integer", "null"]]], required: ["a"]),
        "unavoidable_null /properties/a"
    ),
    LintCase(
        "underscores",
        object(["home_score": ["type": "integer"], "away_score": ["type": "integer"]]),
        "snake_case /properties/home_score"
    ),
    LintCase(
        "underscores that Swift declares",
        ["type": "object", "x-swift-type": "State", "properties": ["home_score": ["type": "integer"]]]
    ),
    LintCase(
        "both",
        object(["homeScore": ["type": "integer"], "away_score": ["type": "integer"]]),
        "mixed_case /properties/away_score"
    ),
    LintCase(
        "dates",
        object([
            "startsAt": ["type": "number"], "end_date": ["type": "integer"],
            "plan": ["type": "string", "format": "date"],
            "kickoff": ["type": "number", "x-swift-type": "Date"], "format": ["type": "number"],
        ]),
        "mixed_case /properties/end_date",
        "date_without_type /properties/startsAt",
        "date_without_type /properties/end_date",
        "date_without_type /properties/plan",
        "unbounded_string /properties/plan"
    ),
    LintCase(
        "nothing said",
        object(["a": true, "b": ["title": "anything"], "c": ["items": [:]], "d": false]),
        "unchecked /properties/a",
        "unchecked /properties/b",
        "unchecked /properties/c/items"
    ),
    LintCase(
        "types inside each other",
        [
            "$ref": "#/$defs/Node",
            "$defs": [
                "Node": [
                    "type": "object",
                    "properties": ["next": ["$ref": "#/$defs/Node"], "name": ["anyOf": [["type": "string"]]]],
                ]
            ],
        ],
        "unbounded_string /$defs/Node/properties/name/anyOf/0"
    ),
]

@Suite("Lint of schemas")
struct SchemaLintTests {
    @Test("What is doubtful is found at its place, and nothing else", arguments: cases)
    private func findings(_ example: LintCase) throws {
        _ = try CompiledSchema(example.schema)
        let found = SchemaLint.findings(in: example.schema)
        #expect(found.map { "\($0.code.rawValue) \($0.pointer)" } == example.findings)
        for finding in found { #expect(finding.message.count > 40) }
    }

    @Test("docs/reference/schemas.md lists every code")
    func documented() throws {
        // The sources may be seen by way of tools/sanitized.
        var root = URL(filePath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "docs/reference/schemas.md"), encoding: .utf8)
        for code in LintFinding.Code.allCases { #expect(page.contains("`\(code.rawValue)`")) }
    }

    @Test("The largest size is counted where there is one")
    func sizes() throws {
        let sizes: [(JSONValue, Int?)] = [
            (["type": "integer", "minimum": -5, "maximum": 10], 2),
            (["type": "boolean"], 5),
            (["type": ["boolean", "null"]], 5),
            (["const": "é"], 4),
            (["enum": ["a", "abc", 1]], 5),
            (["type": "string", "maxLength": 10], 42),
            (["type": "string"], nil),
            (["type": "array", "items": ["type": "boolean"], "maxItems": 3], 2 + 3 * 5 + 2),
            (["type": "array", "items": ["type": "boolean"]], nil),
            (["type": "array", "prefixItems": [["type": "boolean"], ["const": 1]], "items": false], 2 + 5 + 1 + 1),
            (object(["ab": ["type": "boolean"]]), 2 + 4 + 2 + 5),
            (object(["ab": ["type": "string"]]), nil),
            (["anyOf": [["type": "boolean"], ["const": "1234567"]]], 9),
            (["allOf": [["type": "string"], ["maxLength": 3, "type": "string"]]], 14),
            (["$ref": "#/$defs/a", "$defs": ["a": ["type": "null"]]], 4),
            (["type": "object", "additionalProperties": false], 2),
            (["type": "object"], nil),
            (
                [
                    "type": "object", "maxProperties": 2, "propertyNames": ["maxLength": 3],
                    "additionalProperties": ["type": "boolean"],
                ], 2 + 2 * (12 + 4 + 5)
            ),
            (["$ref": "#"], nil),
        ]
        for (schema, size) in sizes { #expect(SchemaLint.largestSize(of: schema) == size, "\(schema.text)") }
        var huge: JSONValue = ["type": "boolean"]
        for _ in 0..<20 { huge = ["type": "array", "maxItems": 2_147_483_647, "items": huge] }
        #expect(SchemaLint.largestSize(of: object(["a": huge, "b": huge])) == nil)
    }

    @Test("A list says how many bytes each of its items takes")
    func itemSizes() throws {
        let list: JSONValue = ["type": "array", "items": ["type": "string", "maxLength": 10]]
        let finding = try #require(SchemaLint.findings(in: list).first { $0.code == .unboundedArray })
        #expect(finding.message.contains("of up to 42 bytes each"))
    }

    @Test("Both together are measured against what the phone holds")
    func together() throws {
        let half: JSONValue = ["type": "string", "maxLength": 511]
        #expect(SchemaLint.tooLarge(attributes: half, contentState: half) == nil)
        let more: JSONValue = ["type": "string", "maxLength": 512]
        let finding = try #require(SchemaLint.tooLarge(attributes: more, contentState: more))
        #expect(finding.code == .tooLarge)
        #expect(finding.message.contains("2050 bytes"))
        #expect(SchemaLint.tooLarge(attributes: more, contentState: ["type": "string"]) == nil)
    }

    @Test("A document full of what is doubtful, or with references as long as itself, is looked at in bounded time")
    func bounded() {
        var definitions = JSONObject()
        for index in 0..<4_000 {
            definitions["d\(index)"] = object(["a": ["$ref": .string("#/$defs/d\((index + 1) % 4_000)")], "b": true])
        }
        let chain: JSONValue = ["$ref": "#/$defs/d0", "$defs": .object(definitions)]
        #expect(SchemaLint.findings(in: chain).count == SchemaLint.maximumFindings)
        #expect(SchemaLint.largestSize(of: chain) == nil)
    }
}

@Suite("Lint of content")
struct ContentLintTests {
    private static let schema: JSONValue = [
        "$ref": "#/$defs/State",
        "$defs": [
            "State": [
                "type": "object",
                "properties": [
                    "homeScore": ["type": "integer"],
                    "team": ["anyOf": [["$ref": "#/$defs/Team"], ["type": "null"]]],
                    "teams": ["type": "array", "items": ["$ref": "#/$defs/Team"]],
                    "byName": ["type": "object", "additionalProperties": ["$ref": "#/$defs/Team"]],
                    "free": true,
                ],
            ],
            "Team": ["type": "object", "properties": ["name": ["type": "string"]]],
        ],
    ]

    @Test("Nulls and keys that the phone ignores are named at their places")
    func findings() {
        let content: JSONValue = [
            "home_score": 1, "team": ["name": "A", "nmae": "B"], "teams": [["name": nil]], "byName": ["x": ["y": 1]],
            "free": ["anything": ["goes": nil]],
        ]
        let found = ContentLint.findings(in: content, Self.schema)
        #expect(
            found.map { "\($0.code.rawValue) \($0.pointer)" } == [
                "undeclared_key /home_score", "undeclared_key /team/nmae", "null_value /teams/0/name",
                "undeclared_key /byName/x/y", "null_value /free/anything/goes",
            ]
        )
        #expect(found.first?.message.contains("is 'homeScore' meant?") == true)
    }

    @Test("Where a schema branches in other ways, no key is called undeclared")
    func branching() {
        for keyword in ["patternProperties", "dependentSchemas"] {
            var schema: JSONObject = ["properties": ["a": true]]
            schema[keyword] = ["^b": ["type": "integer"]]
            #expect(ContentLint.findings(in: ["b": 1], .object(schema)).isEmpty)
        }
    }

    @Test("Content as large as a request may be is looked at in bounded time")
    func bounded() {
        let content = JSONValue.array(Array(repeating: ["name": nil, "other": [1, 2, 3]], count: 100_000))
        let found = ContentLint.findings(
            in: content,
            ["type": "array", "items": ["$ref": "#/$defs/x"], "$defs": ["x": true]]
        )
        #expect(found.count == 100)
    }
}
