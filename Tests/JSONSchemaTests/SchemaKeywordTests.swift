import JSON
import JSONSchema
import Testing

@Suite("JSON Schema keywords")
struct SchemaKeywordTests {
    @Test(
        "Values and texts",
        arguments: [
            ("true", "1", true), ("false", "1", false), ("{}", "null", true),
            ("{\"type\":\"integer\"}", "1", true), ("{\"type\":\"integer\"}", "1.0", true),
            ("{\"type\":\"integer\"}", "1e30", true), ("{\"type\":\"integer\"}", "1.5", false),
            ("{\"type\":\"integer\"}", "\"1\"", false), ("{\"type\":\"number\"}", "1", true),
            ("{\"type\":\"number\"}", "1.5", true), ("{\"type\":\"number\"}", "true", false),
            ("{\"type\":\"string\"}", "\"\"", true), ("{\"type\":\"string\"}", "null", false),
            ("{\"type\":\"boolean\"}", "false", true), ("{\"type\":\"boolean\"}", "0", false),
            ("{\"type\":\"null\"}", "null", true), ("{\"type\":\"null\"}", "{}", false),
            ("{\"type\":\"array\"}", "[]", true), ("{\"type\":\"array\"}", "{}", false),
            ("{\"type\":\"object\"}", "{}", true), ("{\"type\":\"object\"}", "[]", false),
            ("{\"type\":[\"string\",\"null\"]}", "null", true), ("{\"type\":[\"string\",\"null\"]}", "1", false),
            ("{\"enum\":[1,\"a\",null,{\"x\":[1]}]}", "{\"x\":[1.0]}", true), ("{\"enum\":[1,\"a\"]}", "1.0", true),
            ("{\"enum\":[1,\"a\"]}", "\"b\"", false), ("{\"enum\":[0]}", "false", false),
            ("{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", true), ("{\"const\":1}", "1.0", true),
            ("{\"const\":1}", "true", false), ("{\"const\":null}", "null", true),
            ("{\"minLength\":2}", "\"é€\"", true), ("{\"minLength\":2}", "\"💩\"", false),
            ("{\"maxLength\":2}", "\"💩💩\"", true), ("{\"maxLength\":1}", "\"e\\u0301\"", false),
            ("{\"maxLength\":2.0}", "\"abc\"", false), ("{\"minLength\":5}", "3", true),
            ("{\"minLength\":2147483647}", "\"abc\"", false), ("{\"pattern\":\"^a+$\"}", "\"aaa\"", true),
            ("{\"pattern\":\"^a+$\"}", "\"aab\"", false), ("{\"pattern\":\"b\"}", "\"abc\"", true),
            ("{\"pattern\":\"^a+$\"}", "1", true), ("{\"format\":\"date\"}", "\"yesterday\"", true),
            ("{\"contentMediaType\":\"application/json\"}", "\"{\"", true),
        ]
    )
    func values(schema: String, value: String, isValid: Bool) throws {
        try check(schema, value, isValid)
    }

    @Test(
        "Numbers are compared on their digits, at any size",
        arguments: [
            ("{\"minimum\":1.1}", "1.1", true), ("{\"minimum\":1.1}", "1.10", true),
            ("{\"minimum\":1.1}", "0.6", false), ("{\"minimum\":-2}", "-2.0001", false),
            ("{\"minimum\":2}", "\"1\"", true),
            ("{\"exclusiveMinimum\":1.1}", "1.1", false),
            ("{\"exclusiveMinimum\":1.1}", "1.10000000000000000001", true), ("{\"maximum\":300}", "300.00", true),
            ("{\"maximum\":300}", "300.5", false),
            ("{\"exclusiveMaximum\":3}", "3.0", false), ("{\"exclusiveMaximum\":3}", "2.9999999999999999999999", true),
            ("{\"maximum\":9007199254740992}", "9007199254740993", false),
            ("{\"maximum\":18446744073709551615}", "18446744073709551600", true),
            ("{\"minimum\":1e400}", "1e401", true), ("{\"minimum\":1e400}", "1e399", false),
            ("{\"maximum\":-1e400}", "-1e399", false),
            ("{\"multipleOf\":2}", "10", true), ("{\"multipleOf\":2}", "7", false), ("{\"multipleOf\":1.5}", "0", true),
            ("{\"multipleOf\":1.5}", "4.5", true), ("{\"multipleOf\":1.5}", "35", false),
            ("{\"multipleOf\":0.01}", "19.99", true), ("{\"multipleOf\":0.01}", "19.999", false),
            ("{\"multipleOf\":0.0001}", "0.0075", true), ("{\"multipleOf\":0.0001}", "0.00751", false),
            ("{\"multipleOf\":1e-8}", "12391239123", true), ("{\"multipleOf\":0.123456789}", "1e308", false),
            ("{\"multipleOf\":0.5}", "1e308", true), ("{\"multipleOf\":3}", "1e999999999", false),
            ("{\"multipleOf\":7}", "77777777777777777777777777777777777777777777", true),
            ("{\"multipleOf\":100}", "1250", false), ("{\"multipleOf\":100}", "1.3e3", true),
            ("{\"multipleOf\":0.3}", "-0.9", true),
            ("{\"multipleOf\":999999999999999999}", "999999999999999999000000000000000000", true),
            ("{\"multipleOf\":1.0000000000000000001}", "3.0000000000000000003", true),
            ("{\"multipleOf\":1.0000000000000000001}", "3.0000000000000000004", false),
            ("{\"multipleOf\":123456789012345678901234567890}", "370370367037037036703703703670e999999", true),
            ("{\"multipleOf\":123456789012345678901234567890}", "37037036703703703670370370367e1", true),
            ("{\"multipleOf\":123456789012345678901234567890}", "370370367037037036703703703671", false),
            ("{\"multipleOf\":1267650600228229401496703205376}", "1e100", true),
            ("{\"multipleOf\":1267650600228229401496703205376}", "1e99", false),
            ("{\"multipleOf\":1267650600228229401496703205376}", "1e999999999", true),
        ]
    )
    func numbers(schema: String, value: String, isValid: Bool) throws {
        try check(schema, value, isValid)
    }

    @Test(
        "Objects",
        arguments: [
            ("{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":\"x\",\"b\":1}", true),
            ("{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1}", false),
            ("{\"properties\":{\"a\":false}}", "{\"b\":1}", true),
            ("{\"properties\":{\"a\":false}}", "{\"a\":1}", false),
            ("{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{\"a\":1}", true),
            ("{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{\"a\":1,\"b\":1}", false),
            ("{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"a\":1,\"b\":\"\"}", false),
            (
                "{\"additionalProperties\":{\"type\":\"integer\"},\"properties\":{\"b\":{\"type\":\"string\"}}}",
                "{\"a\":1,\"b\":\"\"}", true
            ), ("{\"additionalProperties\":false}", "{}", true),
            ("{\"required\":[\"a\"]}", "{\"a\":null}", true), ("{\"required\":[\"a\"]}", "{\"b\":1}", false),
            ("{\"required\":[\"a\"]}", "[]", true), ("{\"required\":[]}", "{}", true),
            ("{\"required\":[\"\u{E9}\"]}", "{\"e\u{301}\":1}", false),
            ("{\"properties\":{\"\u{E9}\":false,\"e\u{301}\":true}}", "{\"e\u{301}\":1}", true),
            ("{\"minProperties\":1}", "{}", false), ("{\"minProperties\":1}", "{\"a\":1}", true),
            ("{\"maxProperties\":1}", "{\"a\":1,\"b\":2}", false), ("{\"maxProperties\":0}", "{}", true),
            ("{\"propertyNames\":{\"maxLength\":2}}", "{\"ab\":1}", true),
            ("{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}", false), ("{\"propertyNames\":false}", "{}", true),
            ("{\"propertyNames\":false}", "{\"a\":1}", false),
            ("{\"dependentRequired\":{\"a\":[\"b\",\"c\"]}}", "{\"a\":1,\"b\":1,\"c\":1}", true),
            ("{\"dependentRequired\":{\"a\":[\"b\",\"c\"]}}", "{\"a\":1,\"b\":1}", false),
            ("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"x\":1}", true),
            ("{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":1}", false),
            ("{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"c\":1}", true),
            ("{\"patternProperties\":{\"^x-\":{\"type\":\"integer\"}}}", "{\"x-a\":1,\"y\":\"\"}", true),
            ("{\"patternProperties\":{\"^x-\":{\"type\":\"integer\"}}}", "{\"x-a\":\"\"}", false),
            (
                "{\"patternProperties\":{\"a\":{\"minimum\":1},\"b\":{\"minimum\":2}},\"properties\":{\"ab\":{\"maximum\":9}}}",
                "{\"ab\":1}", false
            ),
            (
                "{\"patternProperties\":{\"a\":true},\"properties\":{\"b\":true},\"additionalProperties\":false}",
                "{\"ba\":1,\"b\":2}", true
            ),
            (
                "{\"patternProperties\":{\"a\":true},\"properties\":{\"b\":true},\"additionalProperties\":false}",
                "{\"c\":2}", false
            ),
        ]
    )
    func objects(schema: String, value: String, isValid: Bool) throws {
        try check(schema, value, isValid)
    }

    @Test(
        "Arrays",
        arguments: [
            ("{\"items\":{\"type\":\"integer\"}}", "[1,2.0]", true),
            ("{\"items\":{\"type\":\"integer\"}}", "[1,\"2\"]", false), ("{\"items\":false}", "[]", true),
            ("{\"items\":false}", "[1]", false), ("{\"items\":false}", "{}", true),
            ("{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "[1,\"a\",true]", true),
            ("{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "[1,2]", false),
            ("{\"prefixItems\":[{\"type\":\"integer\"}]}", "[]", true),
            ("{\"prefixItems\":[{}],\"items\":{\"type\":\"string\"}}", "[1,\"a\"]", true),
            ("{\"prefixItems\":[{}],\"items\":{\"type\":\"string\"}}", "[1,2]", false),
            ("{\"prefixItems\":[{},{}],\"items\":false}", "[1,2]", true),
            ("{\"prefixItems\":[{},{}],\"items\":false}", "[1,2,3]", false),
            ("{\"contains\":{\"minimum\":5}}", "[1,6]", true), ("{\"contains\":{\"minimum\":5}}", "[1,2]", false),
            ("{\"contains\":{\"minimum\":5}}", "[]", false),
            ("{\"contains\":{\"minimum\":5},\"minContains\":0}", "[]", true),
            ("{\"contains\":{\"const\":1},\"minContains\":2}", "[1,2]", false),
            ("{\"contains\":{\"const\":1},\"minContains\":2}", "[1,1.0]", true),
            ("{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]", false),
            ("{\"contains\":{\"const\":1},\"maxContains\":1}", "[2]", false), ("{\"minContains\":2}", "[]", true),
            ("{\"minItems\":1}", "[]", false), ("{\"minItems\":1}", "[1]", true), ("{\"maxItems\":1}", "[1,2]", false),
            ("{\"maxItems\":1}", "\"ab\"", true),
            ("{\"uniqueItems\":true}", "[1,2]", true), ("{\"uniqueItems\":true}", "[1,1.00]", false),
            ("{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]", false),
            ("{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"a\":1}]", true),
            ("{\"uniqueItems\":true}", "[[\"a\"],[\"b\"]]", true), ("{\"uniqueItems\":false}", "[1,1]", true),
        ]
    )
    func arrays(schema: String, value: String, isValid: Bool) throws {
        try check(schema, value, isValid)
    }

    @Test(
        "Combinations",
        arguments: [
            ("{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2", true),
            ("{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4", false),
            ("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":2}]}", "1", false),
            ("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":2}]}", "\"x\"", true),
            ("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "1", true),
            ("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "3", false),
            ("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "1.5", false),
            ("{\"not\":{\"type\":\"integer\"}}", "\"a\"", true), ("{\"not\":{\"type\":\"integer\"}}", "1", false),
            ("{\"not\":true}", "1", false), ("{\"not\":false}", "1", true),
            ("{\"not\":{\"not\":{\"const\":1}}}", "1", true),
            ("{\"if\":{\"maximum\":0},\"then\":{\"minimum\":-10},\"else\":{\"multipleOf\":2}}", "-1", true),
            ("{\"if\":{\"maximum\":0},\"then\":{\"minimum\":-10},\"else\":{\"multipleOf\":2}}", "-100", false),
            ("{\"if\":{\"maximum\":0},\"then\":{\"minimum\":-10},\"else\":{\"multipleOf\":2}}", "3", false),
            ("{\"if\":{\"maximum\":0},\"then\":{\"minimum\":-10},\"else\":{\"multipleOf\":2}}", "4", true),
            ("{\"if\":{\"const\":1}}", "1", true), ("{\"then\":{\"const\":1}}", "2", true),
            ("{\"else\":{\"const\":1}}", "2", true), ("{\"if\":false,\"else\":{\"const\":1}}", "2", false),
            ("{\"if\":true,\"else\":false}", "2", true),
        ]
    )
    func combinations(schema: String, value: String, isValid: Bool) throws {
        try check(schema, value, isValid)
    }

    @Test(
        "References",
        arguments: [
            ("{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"additionalProperties\":false}", "{\"a\":{\"a\":{}}}", true),
            ("{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"additionalProperties\":false}", "{\"a\":{\"b\":1}}", false),
            ("{\"$defs\":{\"n\":{\"minimum\":0}},\"$ref\":\"#/$defs/n\"}", "-1", false),
            ("{\"$defs\":{\"n\":{\"minimum\":0}},\"$ref\":\"#/$defs/n\",\"maximum\":5}", "6", false),
            ("{\"$defs\":{\"n\":{\"minimum\":0}},\"$ref\":\"#/$defs/n\",\"maximum\":5}", "3", true),
            (
                "{\"properties\":{\"x\":{\"type\":\"integer\"},\"y\":{\"$ref\":\"#/properties/x\"}}}", "{\"y\":\"a\"}",
                false
            ),
            ("{\"prefixItems\":[{\"type\":\"integer\"},{\"$ref\":\"#/prefixItems/0\"}]}", "[1,\"a\"]", false),
            ("{\"$defs\":{\"a/b~c%d\":{\"const\":1}},\"$ref\":\"#/$defs/a~1b~0c%25d\"}", "2", false),
            ("{\"$defs\":{\"x\":{\"$anchor\":\"pos\",\"minimum\":0}},\"$ref\":\"#pos\"}", "-1", false),
            (
                "{\"$id\":\"https://example.com/s\",\"$defs\":{\"x\":{\"minimum\":0}},\"$ref\":\"https://example.com/s#/$defs/x\"}",
                "-1", false
            ),
            (
                "{\"$id\":\"https://example.com/s#\",\"properties\":{\"a\":{\"$ref\":\"https://example.com/s\"}},\"required\":[\"b\"]}",
                "{\"b\":1,\"a\":{}}", false
            ),
            (
                "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/c\"},\"c\":{\"type\":\"string\"}},\"$ref\":\"#/$defs/a\"}",
                "1", false
            ), ("{\"properties\":{\"$ref\":{\"type\":\"string\"}}}", "{\"$ref\":1}", false),
            ("{\"const\":{\"$ref\":\"#/nowhere\"}}", "{\"$ref\":\"#/nowhere\"}", true),
            (
                "{\"$defs\":{\"t\":{\"properties\":{\"next\":{\"$ref\":\"#/$defs/t\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"v\"]}},\"$ref\":\"#/$defs/t\"}",
                "{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}", false
            ),
        ]
    )
    func references(schema: String, value: String, isValid: Bool) throws {
        try check(schema, value, isValid)
    }

    /// The two ways to look at a value must agree.
    private func check(_ schema: String, _ value: String, _ isValid: Bool) throws {
        let schema = try CompiledSchema(JSONValue(parsing: schema))
        let value = try JSONValue(parsing: value)
        #expect(schema.isValid(value) == isValid)
        #expect(schema.validate(value).isEmpty == isValid)
    }

    @Test("A schema that branches without end on a deep value is cut short, and the value counts as invalid")
    func bounded() throws {
        let schema = try CompiledSchema(
            JSONValue(parsing: "{\"properties\":{\"a\":{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}}}")
        )
        let deep = try JSONValue(
            parsing: String(repeating: "{\"a\":", count: 60) + "1" + String(repeating: "}", count: 60)
        )
        #expect(!schema.isValid(deep))
        #expect(schema.validate(deep).count == 1)
        #expect(schema.isValid(["a": ["a": ["a": 1]]]))
    }

    @Test("A value with very many faults yields a bounded list")
    func boundedViolations() throws {
        let schema = try CompiledSchema(["items": ["type": "string"]])
        #expect(schema.validate(.array(Array(repeating: 1, count: 5_000))).count == 100)
    }
}
