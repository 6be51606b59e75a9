import JSON
@testable import JSONSchema
import Testing

@Suite("Hostile schemas", .timeLimit(.minutes(5)))
struct HostileSchemaTests {
    @Test(
        "Limits that no document comes near are refused",
        arguments: [
            "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties",
            "maxProperties",
        ]
    )
    func hugeCount(keyword: String) throws {
        for digits in ["2147483648", "9223372036854775808", "1e30", "1e999999999"] {
            let number = try #require(JSONNumber(digits: digits))
            let error = try #require(throws: SchemaError.self) { try CompiledSchema([keyword: .number(number)]) }
            #expect(error.code == .tooLarge)
            #expect(error.pointer.description == "/\(keyword)")
        }
        #expect(throws: Never.self) { try CompiledSchema([keyword: 2_147_483_647]) }
    }

    @Test("A document beyond 256 KB is refused, given ones too")
    func hugeDocument() throws {
        let long: JSONValue = ["description": .string(String(repeating: "x", count: 262_144))]
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(long) }
        #expect(error.code == .tooLarge)
        #expect(error.pointer == JSONPointer())
        var options = SchemaOptions()
        options.documents = ["https://example.com/long": long]
        #expect(throws: SchemaError.self) {
            try CompiledSchema(["$ref": "https://example.com/long"], options: options)
        }
        let fits: JSONValue = ["description": .string(String(repeating: "x", count: 262_144 - 18))]
        #expect(throws: Never.self) { try CompiledSchema(fits) }
    }

    @Test("A divisor of very many digits is refused")
    func hugeDivisor() throws {
        let divisor = { (digits: Int) throws in
            JSONValue.number(try #require(JSONNumber(digits: String(repeating: "7", count: digits))))
        }
        let schema = try CompiledSchema(["multipleOf": divisor(1_000)])
        #expect(schema.isValid(try divisor(2_000)))
        #expect(!schema.isValid(try divisor(2_001)))
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(["multipleOf": divisor(1_001)]) }
        #expect(error.code == .tooLarge)
    }

    @Test("A schema full of everything that is expensive is read and applied in bounded work")
    func expensive() throws {
        let long = try #require(JSONNumber(digits: String(repeating: "7", count: 999)))
        let schema = try CompiledSchema([
            "items": ["multipleOf": .number(long), "minimum": .number(long)], "uniqueItems": true,
        ])
        let items = try (0..<300).map { index in
            JSONValue.number(try #require(JSONNumber(digits: String(repeating: "7", count: 1_998) + "e\(index)")))
        }
        #expect(!schema.isValid(.array(items)))
    }

    @Test("Many schemas at one depth, all anchored and all referred to, are read")
    func wide() throws {
        var definitions = JSONObject()
        var references: [JSONValue] = []
        for index in 0..<2_000 {
            definitions["d\(index)"] = ["$anchor": .string("a\(index)"), "minimum": .number(JSONNumber(index))]
            references.append(["$ref": .string(index.isMultiple(of: 2) ? "#a\(index)" : "#/$defs/d\(index)")])
        }
        let schema = try CompiledSchema(["$defs": .object(definitions), "allOf": .array(references)])
        #expect(schema.isValid(1_999))
        #expect(schema.validate(1_997).map(\.line) == ["1997 is less than 1998", "1997 is less than 1999"])
    }

    @Test("As many dynamic references as resources with their anchor are read")
    func dynamicReferences() throws {
        var definitions = JSONObject()
        var members = JSONObject()
        for index in 0..<2_000 {
            definitions["d\(index)"] = ["$id": .string("r\(index)"), "$dynamicAnchor": "a"]
            members["m\(index)"] = ["$dynamicRef": .string("r\(index)#a")]
        }
        let schema = try CompiledSchema(["$defs": .object(definitions), "properties": .object(members)])
        #expect(schema.isValid(["m7": 1]))
    }

    @Test("Names that are too long to be resolved over and over are refused, also when they grow by resolving")
    func longNames() throws {
        let long = JSONValue.string(String(repeating: "a/", count: 1_100))
        for document: JSONValue in [["$id": long], ["$ref": long]] {
            let error = try #require(throws: SchemaError.self) { try CompiledSchema(document) }
            #expect(error.code == .tooLarge)
        }
        let half = JSONValue.string(String(repeating: "a/", count: 600))
        let error = try #require(throws: SchemaError.self) { try CompiledSchema(["$id": half, "not": ["$id": half]]) }
        #expect(error.code == .tooLarge)
        #expect(error.pointer.description == "/not/$id")
    }

    @Test("Work that the size of a schema multiplies with that of a value counts as work")
    func multiplied() throws {
        var dependencies = JSONObject()
        for index in 0..<10_000 { dependencies["k\(index)"] = ["x"] }
        let schema = try CompiledSchema(["items": ["dependentRequired": .object(dependencies)]])
        #expect(!schema.isValid(.array(Array(repeating: [:], count: 20_000))))
        let types = JSONValue.array(Array(repeating: ["type": "integer"], count: 5_000))
        let number = JSONValue.number(try #require(JSONNumber(digits: String(repeating: "7", count: 200_000) + ".5")))
        #expect(!(try CompiledSchema(["not": ["anyOf": types]]).isValid(number)))
    }

    /// Whatever a rule reads without applying a schema to it counts, or a schema of 256 KB would repeat it for minutes.
    @Test(
        "What a rule reads of a value or of its schema counts as work, however often it is repeated",
        arguments: readers
    )
    func repeated(reader: Reader) throws {
        let schema = try CompiledSchema(Self.repeating(reader.rule))
        // A hundredth of what a validation may cost, because each unit takes its time in a debug build.
        let violations = Validator.violations(of: reader.value, schema.program, effort: Validator.maximumEffort / 100)
        #expect(violations.map(\.message) == [Self.exhausted])
        #expect(violations.map(\.keyword) == ["too_much_work"])
        // Once is no trouble.
        #expect(try CompiledSchema(reader.rule).isValid(reader.value))
    }

    struct Reader: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let rule: JSONValue
        let value: JSONValue
    }

    static let exhausted = "this value takes too much work to check against this schema"

    static let readers: [Reader] = {
        let integers = JSONValue.array((0..<20_000).map { .number(JSONNumber($0)) })
        let long = String(repeating: "x", count: 60_000)
        let members = JSONValue.object(JSONObject((0..<20_000).map { ("m\($0)", .null) }))
        let names = JSONValue.array((0..<20_000).map { .string("m\($0)") })
        let digits = "1." + String(repeating: "0", count: 60_000)
        let one: JSONValue = JSONNumber(digits: digits).map { .number($0) } ?? .null
        return [
            Reader(testDescription: "uniqueItems", rule: ["uniqueItems": true], value: integers),
            Reader(testDescription: "uniqueItems, nested", rule: ["uniqueItems": true], value: [integers]),
            Reader(testDescription: "const", rule: ["const": integers], value: integers),
            Reader(testDescription: "const of many digits", rule: ["const": one], value: 1),
            Reader(testDescription: "enum", rule: ["enum": [1, integers]], value: integers),
            Reader(
                testDescription: "enum of many",
                rule: ["enum": .array((0..<20).map { .number(JSONNumber($0)) } + [integers])],
                value: integers
            ),
            Reader(testDescription: "required", rule: ["required": names], value: members),
            Reader(
                testDescription: "required, a long name",
                rule: ["required": [.string(long)]],
                value: .object(JSONObject([(long, .null)]))
            ),
            Reader(
                testDescription: "dependentRequired",
                rule: ["dependentRequired": ["m1": names]],
                value: members
            ),
            Reader(testDescription: "properties", rule: ["properties": ["a": true]], value: members),
            Reader(
                testDescription: "properties, a long name",
                rule: ["properties": ["a": true]],
                value: .object(JSONObject([(long, .null)]))
            ),
            Reader(
                testDescription: "a list of character classes",
                rule: ["pattern": .string("^[" + String(repeating: "\\p{Lu}", count: 500) + "é]*$")],
                value: .string(String(repeating: "é", count: 9_000))
            ),
        ]
    }()

    /// A schema that applies another one 2,000 times, which by itself is little work.
    private static func repeating(_ rule: JSONValue) -> JSONValue {
        let references = { (count: Int, name: String) in
            JSONValue.array(Array(repeating: ["$ref": .string("#/$defs/\(name)")], count: count))
        }
        return [
            "$defs": ["rule": rule, "hundred": ["allOf": references(100, "rule")]],
            "allOf": references(20, "hundred"),
        ]
    }

    @Test("The deepest value on the longest chain of schemas needs no more stack than a task has")
    func deep() async throws {
        // Arrays in arrays; every one is looked at by as many schemas inside each other as may be.
        var chain: JSONValue = ["items": ["$ref": "#"]]
        for _ in 0..<29 { chain = ["allOf": [chain]] }
        let schema = try CompiledSchema(chain)
        var value: JSONValue = 1
        for _ in 0..<64 { value = [value] }
        let deepest = value
        #expect(await Task.detached { schema.isValid(deepest) && schema.validate(deepest).isEmpty }.value)
        let strict = try CompiledSchema(["allOf": [chain], "$id": "strict", "not": ["const": deepest]])
        #expect(await Task.detached { strict.validate(deepest).map(\.keyword) }.value == ["not"])
    }
}
