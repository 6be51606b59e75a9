import JSON
import Testing

@testable import JSONSchema

@Suite("Violations")
struct ViolationTests {
    @Test(
        "Tell the place in the value, the place in the schema and a sentence",
        arguments: [
            (
                "{\"properties\":{\"home_score\":{\"type\":\"integer\"}}}", "{\"home_score\":2.5}",
                "/properties/home_score/type", "/home_score: 2.5 is not an integer"
            ),
            (
                "{\"items\":{\"enum\":[\"a\",\"b\"]}}", "[\"a\",\"c\"]", "/items/enum",
                "/1: \"c\" is not one of \"a\", \"b\""
            ), ("{\"required\":[\"id\"]}", "{}", "/required", "'id' is required"),
            (
                "{\"$defs\":{\"n\":{\"minimum\":0}},\"properties\":{\"a/b\":{\"$ref\":\"#/$defs/n\"}}}", "{\"a/b\":-1}",
                "/$defs/n/minimum", "/a~1b: -1 is less than 0"
            ),
            (
                "{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{\"a\":1,\"extra\":2}",
                "/additionalProperties", "/extra: 'extra' is not allowed here"
            ),
            ("{\"type\":[\"string\",\"null\"]}", "[1]", "/type", "an array is neither a string nor null"),
            ("{\"maxLength\":3}", "\"abcd\"", "/maxLength", "4 characters, at most 3 expected"),
            ("{\"uniqueItems\":true}", "[1,2,1.0]", "/uniqueItems", "items 0 and 2 are equal"),
            (
                "{\"const\":\"x\"}", "\"\(String(repeating: "y", count: 60))\"", "/const",
                "\"\(String(repeating: "y", count: 39))… is not \"x\""
            ),
            ("false", "1", "", "no value is allowed here"),
            ("{\"multipleOf\":0.5}", "1.3", "/multipleOf", "1.3 is not a multiple of 0.5"),
            ("{\"prefixItems\":[{}],\"items\":false}", "[1,2]", "/items", "2 items, at most 1 expected"),
            (
                "{\"contains\":{\"const\":1}}", "[2]", "/contains",
                "0 items of the kind that is asked for, at least 1 expected"
            ),
            (
                "{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}", "/propertyNames",
                "the name 'ab' is not allowed: 2 characters, at most 1 expected"
            ),
            (
                "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "/dependentRequired",
                "'b' is required where 'a' is"
            ), ("{\"not\":{\"type\":\"null\"}}", "null", "/not", "null is what must not be here"),
            (
                "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3", "/oneOf",
                "3 fits alternatives 0 and 1, exactly one is expected"
            ), ("{\"anyOf\":[{\"minimum\":1},{\"multipleOf\":5}]}", "-3", "/anyOf", "-3 fits none of 2 alternatives"),
            // One alternative is meant: its own finding helps more.
            (
                "{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}]}",
                "{\"a\":1}", "/anyOf/1/properties/a/type", "/a: 1 is not a string"
            ),
            ("{\"allOf\":[{\"minimum\":1},{\"maximum\":5}]}", "9", "/allOf/1/maximum", "9 is more than 5"),
            ("{\"pattern\":\"^[A-Z]{3}$\"}", "\"ab\"", "/pattern", "\"ab\" does not match '^[A-Z]{3}$'"),
            (
                "{\"patternProperties\":{\"^x\":false}}", "{\"xy\":1}", "/patternProperties",
                "/xy: 'xy' is not allowed here"
            ),
            (
                "{\"prefixItems\":[{}],\"unevaluatedItems\":false}", "[1,2]", "/unevaluatedItems",
                "item 1 is not allowed here"
            ),
            (
                "{\"properties\":{\"a\":{}},\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":2}",
                "/unevaluatedProperties", "/b: 'b' is not allowed here"
            ),
            // What is wrong elsewhere is said alone: no member is blamed that a failed schema would have looked at.
            (
                "{\"allOf\":[{\"properties\":{\"a\":{\"minimum\":3}}}],\"unevaluatedProperties\":false}",
                "{\"a\":1,\"b\":2}",
                "/allOf/0/properties/a/minimum", "/a: 1 is less than 3"
            ),
            ("{\"if\":{\"minimum\":1},\"then\":{\"maximum\":5}}", "9", "/then/maximum", "9 is more than 5"),
        ]
    )
    func single(schema: String, value: String, place: String, line: String) throws {
        let violations = try CompiledSchema(JSONValue(parsing: schema)).validate(JSONValue(parsing: value))
        #expect(violations.count == 1)
        let violation = try #require(violations.first)
        #expect(violation.schema.description == place)
        #expect(violation.line == line)
    }

    @Test(
        "Name the Swift type where the phone's decoder stumbles as well",
        arguments: [
            (
                "{\"type\":\"integer\",\"x-swift-type\":\"Int\"}", "2.5",
                "2.5 is not an integer; the phone's `Int` cannot decode it"
            ),
            (
                "{\"type\":\"integer\",\"maximum\":127,\"x-swift-type\":\"Int8\"}", "128",
                "128 is more than 127; the phone's `Int8` cannot decode it"
            ),
            (
                "{\"enum\":[\"a\"],\"x-swift-type\":\"Period\"}", "\"b\"",
                "\"b\" is not one of \"a\"; the phone's `Period` cannot decode it"
            ),
            // The decoder knows nothing of lengths.
            ("{\"maxLength\":1,\"x-swift-type\":\"String\"}", "\"ab\"", "2 characters, at most 1 expected"),
        ]
    )
    func swiftType(schema: String, value: String, message: String) throws {
        let document: JSONValue = ["properties": ["home_score": try JSONValue(parsing: schema)]]
        let violations = try CompiledSchema(document).validate(["home_score": JSONValue(parsing: value)])
        #expect(violations.map(\.line) == ["/home_score: \(message)"])
    }

    @Test("All are found, in the order of the schema, each with its keyword")
    func all() throws {
        let schema: JSONValue = [
            "type": "object", "required": ["a", "b"], "minProperties": 5,
            "properties": ["c": ["type": "string", "minimum": 3], "d": ["items": ["type": "boolean"]]],
        ]
        let violations = try CompiledSchema(schema).validate(["c": 1, "d": [true, 2, "x"]])
        #expect(
            violations.map { "\($0.instance) \($0.keyword)" } == [
                " required", " required", " minProperties", "/c type", "/c minimum", "/d/1 type", "/d/2 type",
            ]
        )
    }

    @Test("However much is wrong, 100 violations are told and no more is looked for", arguments: hopeless)
    func bounded(rule: JSONValue, value: JSONValue) throws {
        // To look at everything would take more work than this.
        let violations = Validator.violations(of: value, try CompiledSchema(rule).program, effort: 10_000)
        #expect(violations.count == 100)
    }

    /// One violation at a time, two, and three, of which not all find room.
    static let hopeless: [(rule: JSONValue, value: JSONValue)] = {
        let items = JSONValue.array(Array(repeating: 1, count: 20_000))
        let members = JSONValue.object(JSONObject((0..<20_000).map { ("k\($0)", .bool(true)) }))
        return [
            (["items": ["type": "string"]], items),
            (["items": ["allOf": [["type": "string"], ["minimum": 3]]]], items),
            (["patternProperties": ["k": false, "^k": false, "k.": false]], members),
        ]
    }()
}
