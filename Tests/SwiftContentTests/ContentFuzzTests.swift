import JSON
import JSONSchema
import SwiftContent
import TestSupport
import Testing

/// Schemas with Swift types, and content, by chance and by malice: an answer in bounded time and stack.
@Suite("Typed content by chance", .timeLimit(.minutes(5)))
struct ContentFuzzTests {
    /// Beside one encoding of dates: what is to be a number here and a text there is settled for nobody.
    private static let types = [
        "Int8", "UInt64", "Float", "Double", "Decimal", "Dictionary",
        "Range<Int>", "ClosedRange<String>", "UUID", "Nothing", "",
    ]
    private static let dates = [
        "Date", "Date(iso8601)", "Date(secondsSince2001)", "Date(secondsSince1970)", "Date(millisecondsSince1970)",
    ]
    private static let times: [String: Int64] = [
        "2026-11-21T18:00:00Z": 1_795_284_000, "2099-12-31T23:59:59Z": 4_102_444_799,
        "9999-12-31T23:59:59Z": 253_402_300_799, "0001-01-01T00:00:00Z": -62_135_596_800,
    ]
    private static let digits = ["0", "-1", "1e400", "1e-400", "1795280400", "9007199254740993.0", "3.4e38", "1e61"]

    private static func schema(_ random: inout SeededRandom, date: String, depth: Int) -> JSONValue {
        var object: JSONObject = [:]
        func pick<Element>(_ list: [Element]) -> Element { list[Int.random(in: list.indices, using: &random)] }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: object["x-swift-type"] = .string(pick(types))
        case 1: object["x-swift-type"] = .string(date)
        default: break
        }
        if Bool.random(using: &random) { object["type"] = .string(pick(["object", "array", "string", "number"])) }
        guard depth > 0 else { return .object(object) }
        for keyword in [
            "properties", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "prefixItems", "$ref",
        ]
        where Int.random(in: 0..<4, using: &random) == 0 {
            switch keyword {
            case "properties":
                object[keyword] = [
                    "a": schema(&random, date: date, depth: depth - 1), "b": schema(&random, date: date, depth: 0),
                ]
            case "items", "additionalProperties": object[keyword] = schema(&random, date: date, depth: depth - 1)
            case "$ref":
                object[keyword] = .string(pick(["#", "#/properties/a", "#/items", "#/%zz", "#a", "b#", "#/$defs/~2"]))
            default:
                object[keyword] = .array((0..<2).map { _ in schema(&random, date: date, depth: depth - 1) })
            }
        }
        return .object(object)
    }

    private static func value(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 4), using: &random) {
        case 0: .null
        case 1:
            .string((times.keys.sorted() + ["", "2026-02-30T25:00:00", "é"])[Int.random(in: 0..<7, using: &random)])
        case 2:
            JSONNumber(digits: digits[Int.random(in: digits.indices, using: &random)]).map(JSONValue.number) ?? .null
        case 3: .bool(true)
        case 4, 5: ["a": value(&random, depth: depth - 1), "b": value(&random, depth: depth - 1)]
        default: .array((0..<3).map { _ in value(&random, depth: depth - 1) })
        }
    }

    @Sendable private static func time(_ text: String) -> TypedContent.Time? {
        times[text].map { .init(microseconds: $0 * 1_000_000, text: text) }
    }

    @Test("Whatever a schema says, content is settled once and for all, and lint names places that exist")
    func documents() {
        for seed in FuzzSeeds.range {
            var random = SeededRandom(seed: seed)
            let date = Self.dates[Int(seed) % Self.dates.count]
            let schema = Self.schema(&random, date: date, depth: 3)
            let types = TypedContent(schema)
            for finding in SchemaLint.findings(in: schema) { #expect(schema[finding.pointer] != nil, "seed \(seed)") }
            _ = SchemaLint.largestSize(of: schema)
            // Of what would never be registered, a walk may be given up the second time only.
            let isAccepted = (try? CompiledSchema(schema)) != nil
            for _ in 0..<3 {
                let content = Self.value(&random, depth: 3)
                let (settled, findings) = types.settled(content, time: Self.time)
                for finding in findings { #expect(content[finding.instance] != nil, "seed \(seed)") }
                let again = types.settled(settled, by: .settled, time: Self.time)
                #expect(again.content == settled, "seed \(seed)")
                if findings.isEmpty, isAccepted { #expect(again.findings.isEmpty, "seed \(seed)") }
                for finding in ContentLint.findings(in: settled, schema) {
                    #expect(settled[finding.pointer] != nil, "seed \(seed)")
                }
            }
        }
    }

    @Test("References in a chain as long as a document may be need no more stack than a task has")
    func chain() async {
        var definitions = JSONObject()
        for index in 0..<5_000 {
            definitions["d\(index)"] = ["properties": ["a": ["$ref": .string("#/$defs/d\(index + 1)")]]]
        }
        definitions["d5000"] = ["x-swift-type": "Date"]
        let schema: JSONValue = ["$ref": "#/$defs/d0", "$defs": .object(definitions)]
        var content: JSONValue = 1
        for _ in 0..<60 { content = ["a": content] }
        let deepest = content
        let findings = await Task.detached {
            _ = try? CompiledSchema(schema)
            _ = SchemaLint.findings(in: schema)
            _ = SchemaLint.largestSize(of: schema)
            let settled = TypedContent(schema).settled(deepest, time: Self.time).findings.map(\.message)
            return settled + ContentLint.findings(in: deepest, schema).map(\.message)
        }.value
        #expect(findings == [])
    }

    @Test("Alternatives that branch at every step are left after a while")
    func branching() {
        var definitions: JSONObject = ["d16": ["type": "object"]]
        for index in 0..<16 {
            let next: JSONValue = ["$ref": .string("#/$defs/d\(index + 1)")]
            definitions["d\(index)"] = ["allOf": .array(Array(repeating: next, count: 20))]
        }
        let schema: JSONValue = [
            "x-swift-type": "State", "anyOf": [["$ref": "#/$defs/d0"], ["type": "null"]], "$defs": .object(definitions),
        ]
        _ = TypedContent(schema).settled([:], time: Self.time)
        _ = SchemaLint.largestSize(of: schema)
        _ = ContentLint.findings(in: ["a": 1], schema)
    }
}
