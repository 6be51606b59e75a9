import JSON
import JSONSchema
import SwiftContent
import Testing

struct TypedContentTests {
    @Sendable private static func time(_ text: String) -> TypedContent.Time? {
        switch text {
        case "2026-11-21T18:00:00+01:00": .init(microseconds: 1_795_280_400_000_000, text: "2026-11-21T17:00:00Z")
        case "2026-11-21T17:00:00.25Z": .init(microseconds: 1_795_280_400_250_000, text: "2026-11-21T17:00:00.250Z")
        case "2000-12-31T23:59:59.5Z": .init(microseconds: 978_307_199_500_000, text: "2000-12-31T23:59:59.500Z")
        default: nil
        }
    }

    private static func settle(_ value: JSONValue, as type: String) -> (value: JSONValue?, message: String?) {
        let schema: JSONValue = ["properties": ["a": ["x-swift-type": .string(type)]]]
        let (content, findings) = TypedContent(schema).settled(["a": value], time: time)
        return (content.object?["a"], findings.first?.message)
    }

    @Test(arguments: [
        ("Date", "2026-11-21T18:00:00+01:00", JSONValue.number(816_973_200)),
        ("Date", "2026-11-21T17:00:00.25Z", JSONValue.number(JSONNumber(digits: "816973200.25") ?? 0)),
        ("Date", "2000-12-31T23:59:59.5Z", JSONValue.number(JSONNumber(digits: "-0.5") ?? 0)),
        ("Date(secondsSince2001)", "2026-11-21T18:00:00+01:00", JSONValue.number(816_973_200)),
        (
            "Date(secondsSince1970)", "2026-11-21T17:00:00.25Z",
            JSONValue.number(JSONNumber(digits: "1795280400.25") ?? 0)
        ),
        ("Date(millisecondsSince1970)", "2026-11-21T17:00:00.25Z", JSONValue.number(1_795_280_400_250)),
        ("Date(iso8601)", "2026-11-21T18:00:00+01:00", JSONValue.string("2026-11-21T17:00:00Z")),
        ("Date(iso8601)", "2026-11-21T17:00:00.25Z", JSONValue.string("2026-11-21T17:00:00Z")),
    ])
    func aTimeBecomesWhatThePhoneDecodes(_ type: String, _ text: String, _ expected: JSONValue) {
        let (value, message) = Self.settle(.string(text), as: type)
        #expect(value?.text == expected.text)
        #expect(message == nil)
    }

    @Test func aNumberThatReadsAsUnixTimeIsRefusedUnlessTheSchemaSaysSo() {
        #expect(Self.settle(1_795_280_400, as: "Date").message?.contains("subtract 978307200") == true)
        #expect(Self.settle(1_499_999_999, as: "Date").message == nil)
        #expect(Self.settle(816_973_200, as: "Date").message == nil)
        #expect(Self.settle(1_795_280_400, as: "Date(secondsSince2001)").message == nil)
        #expect(Self.settle(1_795_280_400, as: "Date(secondsSince1970)").message == nil)
        #expect(Self.settle(1_795_280_400_000, as: "Date(secondsSince1970)").message?.contains("milliseconds") == true)
        #expect(Self.settle(816_973_200, as: "Date(iso8601)").message?.contains("is a number") == true)
        #expect(Self.settle("tomorrow", as: "Date").message?.contains("is no time") == true)
    }

    @Test func numbersKeepTheirDigits() {
        #expect(
            Self.settle(.number(JSONNumber(digits: "816973200.250") ?? 0), as: "Date").value?.text == "816973200.250"
        )
    }

    @Test(arguments: [
        ("Int", "9223372036854775807", true), ("Int", "9223372036854775807.0", false), ("Int", "1e2", true),
        ("Double", "1e309", false), ("Double", "1e-400", false), ("Double", "0e-400", true), ("Float", "1e-50", false),
        ("Decimal", "1e61", false), ("Decimal", "0.1", true),
    ])
    func numbersAreSpelledAsTheirTypeReadsThem(_ type: String, _ digits: String, _ isTaken: Bool) throws {
        let number = try #require(JSONNumber(digits: digits))
        #expect((Self.settle(.number(number), as: type).message == nil) == isTaken)
    }

    @Test(
        "A number is no more than what the phone holds, also where the schema names no Swift type",
        arguments: [
            (#"{"type": "integer"}"#, "9223372036854775807", true),
            (#"{"type": "integer"}"#, "9223372036854775808", false),
            (#"{"type": "integer"}"#, "-9223372036854775808", true),
            (#"{"type": "integer"}"#, "-9223372036854775809", false),
            (#"{"type": "integer"}"#, "1e30", false), (#"{"type": "integer"}"#, "-1e400", false),
            (#"{"type": "integer"}"#, "1e2", true), (#"{"type": "integer", "minimum": 0}"#, "1e30", false),
            (#"{"type": ["integer", "null"]}"#, "1e30", false), (#"{"type": "integer", "enum": [1e30]}"#, "1e30", true),
            (#"{"type": "integer", "maximum": 18446744073709551615}"#, "18446744073709551615", true),
            (#"{"type": "integer", "maximum": 18446744073709551615}"#, "-9223372036854775809", false),
            (#"{"type": "integer", "x-swift-type": "UInt64"}"#, "18446744073709551615", true),
            (#"{"type": "integer", "x-swift-type": "UInt64"}"#, "18446744073709551616", false),
            (#"{"type": "integer", "x-swift-type": "UInt64"}"#, "-1", false),
            (#"{"type": "integer", "x-swift-type": "Money"}"#, "1e30", true),
            (#"{"type": "number"}"#, "9223372036854775808", true), (#"{"type": "number"}"#, "1e308", true),
            (#"{"type": "number"}"#, "1e309", false), (#"{"type": ["integer", "number"]}"#, "1e30", true),
            (#"{"type": "number", "maximum": 1e400}"#, "1e309", true), ("{}", "1e400", true),
            (#"{"anyOf": [{"type": "integer"}, {"type": "null"}]}"#, "1e30", false),
            (#"{"anyOf": [{"type": "integer"}, {"type": "number"}]}"#, "1e30", true),
        ]
    )
    func numbersFitIntoWhatThePhoneHolds(_ schema: String, _ digits: String, _ isTaken: Bool) throws {
        let number = try #require(JSONNumber(digits: digits))
        let content: JSONValue = ["a": [.number(number)]]
        let schema = try JSONValue(parsing: schema)
        let (settled, findings) = TypedContent(["properties": ["a": ["items": schema]]])
            .settled(content, time: Self.time)
        #expect(settled == content)
        #expect(findings.isEmpty == isTaken)
        #expect(findings.allSatisfy { $0.instance.description == "/a/0" && $0.message.contains("hold") })
        #expect(findings.allSatisfy { $0.keyword == (schema["x-swift-type"] == nil ? "type" : "x-swift-type") })
    }

    @Test("A text that becomes a number is looked at as one wherever the schema speaks of its place")
    func timesAreNumbersThen() throws {
        let schema: JSONValue = ["allOf": [["x-swift-type": "Int8"], ["x-swift-type": "Date"]]]
        let (settled, findings) = TypedContent(schema).settled("2026-11-21T18:00:00+01:00", time: Self.time)
        #expect(findings.map(\.swiftType) == ["Int8"])
        #expect(TypedContent(schema).settled(settled, by: .settled, time: Self.time).findings == findings)
    }

    @Test("A schema that names no Swift types may branch as it likes")
    func untypedBranches() {
        var schemas: JSONObject = ["0": ["type": "integer"]]
        for level in 1...20 {
            let reference: JSONValue = ["$ref": .string("#/$defs/\(level - 1)")]
            schemas["\(level)"] = ["allOf": [reference, reference]]
        }
        let schema: JSONValue = ["$ref": "#/$defs/20", "$defs": .object(schemas)]
        #expect(TypedContent(schema).settled(1, time: Self.time).findings.isEmpty)
    }

    @Test func rangesRunUpwards() {
        #expect(Self.settle([1, 2], as: "ClosedRange<Int>").message == nil)
        #expect(Self.settle([2, 1], as: "ClosedRange<Int>").message?.contains("above") == true)
        #expect(Self.settle(["b", "a"], as: "Range<String>").message?.contains("above") == true)
    }

    @Test func typesAreFollowedToEveryPlace() {
        let schema: JSONValue = [
            "$defs": [
                "A b": [
                    "type": "object", "properties": ["d": ["x-swift-type": "Date"], "next": ["$ref": "#/$defs/A%20b"]],
                ]
            ],
            "items": ["anyOf": [["$ref": "#/$defs/A%20b"], ["type": "null"]]],
        ]
        let text: JSONValue = "2026-11-21T18:00:00+01:00"
        let (content, findings) = TypedContent(schema).settled(
            [["d": text, "next": ["d": text]], nil, ["d": "x"]],
            time: Self.time
        )
        #expect(content == [["d": 816_973_200, "next": ["d": 816_973_200]], nil, ["d": "x"]])
        #expect(findings.map(\.instance.description) == ["/2/d"])
    }

    @Test func aTextThatMayBeMeantAsOneStaysOne() {
        let schema: JSONValue = ["anyOf": [["type": "number", "x-swift-type": "Date"], ["type": "string"]]]
        let (content, findings) = TypedContent(schema).settled("2026-11-21T18:00:00+01:00", time: Self.time)
        #expect(content == "2026-11-21T18:00:00+01:00")
        #expect(findings.isEmpty)
    }

    /// Schemas with a type in a place where it would not be applied, and the place that is told.
    @Test(arguments: [
        (##"{"patternProperties":{"^a":{"x-swift-type":"Date"}}}"##, "/patternProperties/^a"),
        (##"{"if":{},"then":{"properties":{"a":{"x-swift-type":"Date"}}}}"##, "/then"),
        (##"{"if":{},"else":{"x-swift-type":"Int8"}}"##, "/else"),
        (##"{"dependentSchemas":{"a":{"properties":{"b":{"x-swift-type":"Date"}}}}}"##, "/dependentSchemas/a"),
        (##"{"contains":{"x-swift-type":"Date"}}"##, "/contains"),
        (##"{"unevaluatedProperties":{"x-swift-type":"Date"}}"##, "/unevaluatedProperties"),
        (##"{"items":{"$ref":"#t"},"$defs":{"T":{"$anchor":"t","x-swift-type":"Date"}}}"##, "/items"),
        (##"{"items":{"$dynamicRef":"#t"},"$defs":{"T":{"$dynamicAnchor":"t","x-swift-type":"Date"}}}"##, "/items"),
        // What is applied at one place is not at the other.
        (
            ##"{"properties":{"a":{"$ref":"#/$defs/T"}},"patternProperties":{"^b":{"$ref":"#/$defs/T"}},"##
                + ##""$defs":{"T":{"x-swift-type":"Date"}}}"##,
            "/patternProperties/^b"
        ),
        // The reference leads into the schema that is called b, not into the document.
        (
            ##"{"items":{"$id":"b","items":{"$ref":"#/$defs/T"},"$defs":{"T":{"x-swift-type":"Date"}}},"##
                + ##""$defs":{"T":{}}}"##,
            "/items/items"
        ),
        (##"{"anyOf":[{"type":"number","x-swift-type":"Date"},{"type":"string"}]}"##, "/anyOf/0"),
        (##"{"oneOf":[{"required":["a"]},{"properties":{"b":{"x-swift-type":"Date"}}}]}"##, "/oneOf/1"),
        (##"{"type":"string","x-swift-type":"Date"}"##, "/x-swift-type"),
        (##"{"items":{"type":["integer","null"],"x-swift-type":"Date(iso8601)"}}"##, "/items/x-swift-type"),
    ])
    func aTypeThatWouldNotBeAppliedIsRefused(_ text: String, _ pointer: String) throws {
        let schema = try JSONValue(parsing: text)
        let compiled = try CompiledSchema(schema)
        let error = #expect(throws: SchemaError.self) { try TypedContent.check(schema, compiled) }
        #expect(error?.pointer.description == pointer)
    }

    @Test(arguments: [
        ##"{"properties":{"a":{"type":["number","null"],"x-swift-type":"Date"}},"patternProperties":{"^b":{}}}"##,
        ##"{"items":{"anyOf":[{"$ref":"#/$defs/T"},{"type":"null"}]},"$defs":{"T":{"type":"number","x-swift-type":"Date"}}}"##,
        ##"{"anyOf":[{"type":"integer","x-swift-type":"Int"},{"type":"string","x-swift-type":"String"}]}"##,
        ##"{"$ref":"#/$defs/T","$defs":{"T":{"properties":{"next":{"$ref":"#/$defs/T"},"a":{"x-swift-type":"Int"}}}}}"##,
        ##"{"$ref":"#t","x-swift-type":"Own","$defs":{"T":{"$anchor":"t"},"unused":{"not":{"x-swift-type":"Date"}}}}"##,
        ##"{"type":"string","x-swift-type":"Date(iso8601)","oneOf":[{"const":"a"},{"const":"b"}]}"##,
        ##"{"type":"integer","x-swift-type":"Date(millisecondsSince1970)"}"##,
    ])
    func aTypeThatIsAppliedIsTaken(_ text: String) throws {
        let schema = try JSONValue(parsing: text)
        try TypedContent.check(schema, CompiledSchema(schema))
    }

    @Test func aReferenceIsNotMeantFromTheDocumentWhereASchemaHasItsOwnName() throws {
        let schema = try JSONValue(
            parsing: ##"{"items":{"$id":"b","items":{"$ref":"#/$defs/T"},"$defs":{"T":{}}},"##
                + ##""$defs":{"T":{"x-swift-type":"Date"}},"properties":{"a":{"$ref":"#/$defs/T"}}}"##
        )
        let text: JSONValue = "2026-11-21T18:00:00+01:00"
        #expect(TypedContent(schema).settled([[text]], time: Self.time).content == [[text]])
        #expect(TypedContent(schema).settled(["a": text], time: Self.time).content == ["a": 816_973_200])
        try TypedContent.check(schema, CompiledSchema(schema))
    }
}
