import JSON
import JSONSchema
import Testing

@Suite("References")
struct ReferenceTests {
    @Test(
        "Are relative to the nearest '$id', as RFC 3986 resolves them",
        arguments: [
            "http://a/b/c/g", "./g", "g", "/b/c/g", "//a/b/c/g", "../c/g", "../../b/c/g", "x/../g", "./x/.././g", "g#",
            "http://a/b/c/../c/g", "HTTP://a/b/c/g",
        ]
    )
    func relative(reference: String) throws {
        let schema = try CompiledSchema([
            "$id": "http://a/b/c/d?q", "$ref": .string(reference),
            "$defs": ["g": ["$id": "http://a/b/c/g", "type": "integer"]],
        ])
        #expect(schema.isValid(1))
        #expect(!schema.isValid("x"))
    }

    @Test("Lead to documents that were given, which can refer to each other and back, and to nothing else")
    func documents() throws {
        var options = SchemaOptions()
        options.documents = [
            "https://example.com/team": ["properties": ["captain": ["$ref": "player#/$defs/name"]]],
            "https://example.com/player": [
                "$defs": ["name": ["type": "string"], "team": ["$ref": "team"]], "$ref": "#/$defs/name",
            ],
        ]
        let document: JSONValue = ["items": ["$ref": "https://example.com/team"]]
        let schema = try CompiledSchema(document, options: options)
        #expect(schema.isValid([["captain": "Ada"]]))
        #expect(schema.validate([["captain": 1]]).map(\.line) == ["/0/captain: 1 is not a string"])
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(document) }
        #expect(error.code == .unresolvedReference)
        #expect(error.pointer.description == "/items/$ref")
    }

    @Test("An error in a document that was given names it")
    func errorElsewhere() throws {
        var options = SchemaOptions()
        options.documents = ["https://example.com/a": ["type": "text"]]
        let error = try #require(throws: SchemaError.self) {
            try CompiledSchema(["$ref": "https://example.com/a"], options: options)
        }
        #expect(error.pointer == JSONPointer())
        #expect(error.message == "In 'https://example.com/a' at '/type': There is no type 'text'.")
    }

    @Test("The schema of schemas is known, and tells what no schema is")
    func metaSchema() throws {
        let schema = try CompiledSchema(["$ref": "https://json-schema.org/draft/2020-12/schema"])
        #expect(schema.isValid(["properties": ["a": ["minimum": 1]], "allOf": [true]]))
        #expect(
            schema.validate(["properties": ["a": ["minLength": -1]]]).map(\.line) == [
                "/properties/a/minLength: -1 is less than 0"
            ]
        )
    }

    @Test("A dynamic reference leads to the anchor of the outermost resource on the way")
    func dynamic() throws {
        let list: JSONValue = [
            "$id": "list", "type": "array", "items": ["$dynamicRef": "#item"],
            "$defs": ["item": ["$dynamicAnchor": "item"]],
        ]
        let schema = try CompiledSchema([
            "$id": "https://example.com/root", "properties": ["numbers": ["$ref": "numbers"], "any": ["$ref": "list"]],
            "$defs": [
                "list": list,
                "numbers": [
                    "$id": "numbers", "$ref": "list",
                    "$defs": ["item": ["$dynamicAnchor": "item", "type": "number"]],
                ],
            ],
        ])
        #expect(schema.isValid(["numbers": [1], "any": ["x"]]))
        #expect(schema.validate(["numbers": ["x"], "any": ["x"]]).map(\.line) == ["/numbers/0: \"x\" is not a number"])
    }

    @Test("A dialect without the vocabulary of validation checks no types")
    func vocabulary() throws {
        var options = SchemaOptions()
        options.documents = [
            "https://example.com/loose": [
                "$vocabulary": [
                    "https://json-schema.org/draft/2020-12/vocab/core": true,
                    "https://json-schema.org/draft/2020-12/vocab/applicator": true,
                ]
            ],
            "https://example.com/strange": ["$vocabulary": ["https://example.com/vocabulary": true]],
        ]
        let document: JSONValue = ["$schema": "https://example.com/loose", "properties": ["a": ["type": "string"]]]
        #expect(try CompiledSchema(document, options: options).isValid(["a": 1]))
        let error = try #require(throws: SchemaError.self) {
            try CompiledSchema(["$schema": "https://example.com/strange"], options: options)
        }
        #expect(error.code == .unsupportedDialect)
    }
}
