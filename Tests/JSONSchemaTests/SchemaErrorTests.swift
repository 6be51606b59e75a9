import JSON
import JSONSchema
import Testing

@Suite("Documents that are no schema")
struct SchemaErrorTests {
    @Test(
        "Are refused with the place",
        arguments: [
            ("1", .notASchema, ""), ("null", .notASchema, ""), ("[]", .notASchema, ""),
            ("{\"properties\":{\"a\":1}}", .notASchema, "/properties/a"),
            ("{\"allOf\":[{},null]}", .notASchema, "/allOf/1"),
            ("{\"$defs\":{\"a\":\"x\"}}", .notASchema, "/$defs/a"), ("{\"then\":1}", .notASchema, "/then"),
            ("{\"additionalProperties\":0,\"properties\":{}}", .notASchema, "/additionalProperties"),
            ("{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", .unsupportedDialect, "/$schema"),
            (
                "{\"properties\":{\"a\":{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\"}}}",
                .invalidKeyword, "/properties/a/$schema"
            ),
            ("{\"pattern\":\"(\"}", .invalidKeyword, "/pattern"), ("{\"pattern\":1}", .invalidKeyword, "/pattern"),
            ("{\"pattern\":\"(?=a)\"}", .unsupportedKeyword, "/pattern"),
            ("{\"patternProperties\":{\"[\":true}}", .invalidKeyword, "/patternProperties/["),
            ("{\"patternProperties\":{\"(a)\\\\1\":true}}", .unsupportedKeyword, "/patternProperties/(a)\\1"),
            ("{\"patternProperties\":{\"a\":1}}", .notASchema, "/patternProperties/a"),
            ("{\"items\":{\"unevaluatedProperties\":1}}", .notASchema, "/items/unevaluatedProperties"),
            ("{\"unevaluatedItems\":[]}", .notASchema, "/unevaluatedItems"),
            ("{\"$dynamicRef\":1}", .invalidKeyword, "/$dynamicRef"),
            ("{\"$dynamicRef\":\"#a\"}", .unresolvedReference, "/$dynamicRef"),
            ("{\"$dynamicAnchor\":\"a b\"}", .invalidKeyword, "/$dynamicAnchor"),
            ("{\"$anchor\":\"a\",\"items\":{\"$dynamicAnchor\":\"a\"}}", .invalidKeyword, "/items/$dynamicAnchor"),
            ("{\"$vocabulary\":{\"a\":1}}", .invalidKeyword, "/$vocabulary"),
            ("{\"contentEncoding\":1}", .invalidKeyword, "/contentEncoding"),
            ("{\"contentSchema\":1}", .notASchema, "/contentSchema"),
            ("{\"items\":{\"$id\":1}}", .invalidKeyword, "/items/$id"),
            ("{\"items\":{\"$id\":\"a\"},\"not\":{\"$id\":\"a\"}}", .invalidKeyword, "/not/$id"),
            ("{\"definitions\":{}}", .unknownKeyword, "/definitions"), ("{\"maxium\":3}", .unknownKeyword, "/maxium"),
            ("{\"properties\":{\"a\":{\"Type\":\"string\"}}}", .unknownKeyword, "/properties/a/Type"),
            ("{\"type\":\"int\"}", .invalidKeyword, "/type"), ("{\"type\":[]}", .invalidKeyword, "/type"),
            ("{\"type\":[\"string\",1]}", .invalidKeyword, "/type"), ("{\"type\":null}", .invalidKeyword, "/type"),
            ("{\"enum\":1}", .invalidKeyword, "/enum"),
            ("{\"minimum\":\"1\"}", .invalidKeyword, "/minimum"),
            ("{\"multipleOf\":0}", .invalidKeyword, "/multipleOf"),
            ("{\"multipleOf\":-1}", .invalidKeyword, "/multipleOf"),
            ("{\"minLength\":-1}", .invalidKeyword, "/minLength"),
            ("{\"maxLength\":1.5}", .invalidKeyword, "/maxLength"),
            ("{\"maxItems\":\"1\"}", .invalidKeyword, "/maxItems"),
            ("{\"uniqueItems\":1}", .invalidKeyword, "/uniqueItems"),
            ("{\"required\":\"a\"}", .invalidKeyword, "/required"),
            ("{\"required\":[1]}", .invalidKeyword, "/required"),
            ("{\"dependentRequired\":{\"a\":\"b\"}}", .invalidKeyword, "/dependentRequired"),
            ("{\"properties\":[]}", .invalidKeyword, "/properties"),
            ("{\"items\":[{}]}", .invalidKeyword, "/items"), ("{\"prefixItems\":[]}", .invalidKeyword, "/prefixItems"),
            ("{\"allOf\":[]}", .invalidKeyword, "/allOf"), ("{\"anyOf\":{}}", .invalidKeyword, "/anyOf"),
            ("{\"minContains\":-1}", .invalidKeyword, "/minContains"),
            ("{\"contains\":{},\"maxContains\":\"x\"}", .invalidKeyword, "/maxContains"),
            ("{\"title\":1}", .invalidKeyword, "/title"), ("{\"format\":1}", .invalidKeyword, "/format"),
            ("{\"$ref\":1}", .invalidKeyword, "/$ref"), ("{\"$anchor\":\"1a\"}", .invalidKeyword, "/$anchor"),
            ("{\"$anchor\":\"\"}", .invalidKeyword, "/$anchor"),
            ("{\"$anchor\":\"a\",\"items\":{\"$anchor\":\"a\"}}", .invalidKeyword, "/items/$anchor"),
            ("{\"$id\":\"https://example.com#a\"}", .invalidKeyword, "/$id"),
            ("{\"$ref\":\"#/$defs/x\"}", .unresolvedReference, "/$ref"),
            ("{\"$ref\":\"other.json\"}", .unresolvedReference, "/$ref"),
            ("{\"$ref\":\"#x\"}", .unresolvedReference, "/$ref"),
            ("{\"$ref\":\"#/%zz\"}", .unresolvedReference, "/$ref"),
            ("{\"enum\":[{}],\"$ref\":\"#/enum/0\"}", .unresolvedReference, "/$ref"),
            ("{\"$id\":\"https://a.b/c\",\"$ref\":\"https://a.b/cd\"}", .unresolvedReference, "/$ref"),
            ("{\"items\":{\"$ref\":\"#/\"}}", .unresolvedReference, "/items/$ref"),
            ("{\"$ref\":\"#\"}", .endlessReference, ""),
            ("{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}", .endlessReference, ""),
            ("{\"items\":{\"allOf\":[{\"$ref\":\"#/items\"}]}}", .endlessReference, "/items"),
            ("{\"not\":{\"$ref\":\"#\"}}", .endlessReference, ""), ("{\"if\":{\"$ref\":\"#\"}}", .endlessReference, ""),
            (
                "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"anyOf\":[true,{\"$ref\":\"#/$defs/a\"}]}}}",
                .endlessReference, "/$defs/a"
            ), ("{\"dependentSchemas\":{\"a\":{\"$ref\":\"#\"}}}", .endlessReference, ""),
        ] as [(String, SchemaError.Code, String)]
    )
    func refused(document: String, code: SchemaError.Code, pointer: String) throws {
        let document = try JSONValue(parsing: document)
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(document) }
        #expect(error.code == code)
        #expect(error.pointer.description == pointer)
        #expect(error.message.hasSuffix("."))
    }

    @Test("Annotations pass")
    func annotations() throws {
        let document = """
            {"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/s","title":"t","description":"d","default":1,
             "examples":[1],"$comment":"c","format":"date","contentEncoding":"base64","contentMediaType":"text/plain","contentSchema":false,
             "$vocabulary":{"https://example.com/v":true},"deprecated":true,"readOnly":true,"writeOnly":false,"x-swift-type":{"any":1}}
            """
        #expect(try CompiledSchema(JSONValue(parsing: document)).validate(1).isEmpty)
    }

    @Test("A long chain of references is refused instead of followed")
    func longChain() throws {
        let chain = { (length: Int) -> JSONValue in
            var definitions = JSONObject()
            for index in 0..<length { definitions["d\(index)"] = ["$ref": .string("#/$defs/d\(index + 1)")] }
            definitions["d\(length)"] = true
            return ["$defs": .object(definitions), "$ref": "#/$defs/d0"]
        }
        #expect(throws: Never.self) { try CompiledSchema(chain(30)) }
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(chain(31)) }
        #expect(error.code == .tooComplex)
        #expect(throws: SchemaError.self) { try CompiledSchema(chain(50_000)) }
    }
}
