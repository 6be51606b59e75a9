import JSON
import JSONSchema
import Testing

@Suite("What no other schema has looked at")
struct UnevaluatedTests {
    @Test(
        "Counts for unevaluatedProperties and unevaluatedItems",
        arguments: [
            ("{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"a\":1}", true),
            ("{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"b\":1}", false),
            // The keyword looks last, wherever it stands.
            ("{\"unevaluatedProperties\":false,\"properties\":{\"a\":true}}", "{\"a\":1}", true),
            // What a failed alternative has looked at does not count.
            (
                "{\"anyOf\":[{\"properties\":{\"a\":{\"const\":1}}},{\"properties\":{\"b\":true}}],\"unevaluatedProperties\":false}",
                "{\"a\":2,\"b\":1}", false
            ),
            // What a later alternative has looked at does, though an earlier one fits.
            (
                "{\"anyOf\":[{\"properties\":{\"a\":true}},{\"properties\":{\"b\":true}}],\"unevaluatedProperties\":false}",
                "{\"a\":2,\"b\":1}", true
            ),
            ("{\"not\":{\"not\":{\"properties\":{\"a\":true}}},\"unevaluatedProperties\":false}", "{\"a\":1}", false),
            (
                "{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"then\":{\"properties\":{\"b\":true}},\"unevaluatedProperties\":false}",
                "{\"a\":1,\"b\":1}", true
            ),
            (
                "{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"else\":{\"properties\":{\"b\":true}},\"unevaluatedProperties\":false}",
                "{\"a\":2,\"b\":1}", false
            ),
            // A schema sees what those inside it have looked at, not what its neighbours have.
            (
                "{\"properties\":{\"a\":true},\"allOf\":[{\"unevaluatedProperties\":false}]}", "{\"a\":1}", false
            ),
            (
                "{\"allOf\":[{\"properties\":{\"a\":true},\"unevaluatedProperties\":true}],\"unevaluatedProperties\":false}",
                "{\"z\":1}", true
            ),
            // What is looked at inside a member says nothing of the object around it.
            (
                "{\"properties\":{\"a\":{\"properties\":{\"b\":true}}},\"unevaluatedProperties\":false}",
                "{\"a\":{\"b\":1,\"c\":1}}", true
            ),
            (
                "{\"properties\":{\"a\":{\"properties\":{\"b\":true}}},\"unevaluatedProperties\":false}", "{\"b\":1}",
                false
            ),
            (
                "{\"$ref\":\"#/$defs/base\",\"unevaluatedProperties\":false,\"$defs\":{\"base\":{\"patternProperties\":{\"^x\":true}}}}",
                "{\"xy\":1}", true
            ),
            ("{\"prefixItems\":[true],\"unevaluatedItems\":{\"type\":\"string\"}}", "[1,\"a\"]", true),
            ("{\"prefixItems\":[true],\"unevaluatedItems\":{\"type\":\"string\"}}", "[1,2]", false),
            ("{\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1,1]", true),
            ("{\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1,2]", false),
            ("{\"allOf\":[{\"items\":true}],\"unevaluatedItems\":false}", "[1,2]", true),
        ]
    )
    func single(schema: String, value: String, isValid: Bool) throws {
        let schema = try CompiledSchema(JSONValue(parsing: schema))
        let value = try JSONValue(parsing: value)
        #expect(schema.isValid(value) == isValid)
        #expect(schema.validate(value).isEmpty == isValid)
    }

    @Test("More than 64 members are told apart as well")
    func many() throws {
        let schema = try CompiledSchema(["patternProperties": ["^k": true], "unevaluatedProperties": false])
        var object = JSONObject()
        for index in 0..<200 { object["k\(index)"] = 1 }
        #expect(schema.isValid(.object(object)))
        object["z"] = 1
        #expect(schema.validate(.object(object)).map(\.line) == ["/z: 'z' is not allowed here"])
    }
}
