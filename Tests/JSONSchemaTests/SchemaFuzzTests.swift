import JSON
import JSONSchema
import TestSupport
import Testing

@Suite("Schemas by chance")
struct SchemaFuzzTests {
    @Test("Every document is read or refused at a place in it, and both ways to look at a value agree")
    func schemas() {
        var accepted = 0
        for seed in FuzzSeeds.range {
            var generator = RandomSchema(seed: seed)
            let document = generator.schema(depth: 4)
            do throws(SchemaError) {
                let schema = try CompiledSchema(document)
                accepted += 1
                for _ in 0..<5 {
                    let value = generator.value(depth: 3)
                    let violations = schema.validate(value)
                    #expect(schema.isValid(value) == violations.isEmpty, "seed \(seed)")
                    for violation in violations where !violation.keyword.isEmpty {
                        #expect(document[violation.schema] != nil, "seed \(seed): \(violation.schema)")
                    }
                }
            } catch {
                #expect(document[error.pointer] != nil, "seed \(seed): \(error.pointer)")
                #expect(error.message.hasSuffix("."), "seed \(seed): \(error.message)")
            }
        }
        #expect(accepted >= FuzzSeeds.range.count / 20)
    }

    @Test("Every text is a pattern or refused as one")
    func patterns() {
        let alphabet = Array("ab()[]{}*+?|\\dDwWsSbBpPuxck^$.-,0129<>=!:L\u{E9}💩")
        var accepted = 0
        for seed in FuzzSeeds.range {
            var random = SeededRandom(seed: seed)
            for _ in 0..<20 {
                let length = Int.random(in: 1...14, using: &random)
                let text = String((0..<length).map { _ in alphabet[Int.random(in: alphabet.indices, using: &random)] })
                do throws(SchemaError) {
                    let schema = try CompiledSchema(["pattern": .string(text)])
                    accepted += 1
                    for value in ["", "a", "aab", text] { _ = schema.isValid(.string(value)) }
                } catch {
                    #expect(error.pointer.description == "/pattern", "seed \(seed): \(text)")
                }
            }
        }
        #expect(accepted >= FuzzSeeds.range.count)
    }
}

/// Schemas that are nearly right, and values that nearly fit them.
private struct RandomSchema {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    private static let keywords = [
        "type", "enum", "const", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
        "minItems", "uniqueItems", "prefixItems", "items", "contains", "minContains", "maxContains", "unevaluatedItems",
        "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "required",
        "dependentRequired", "dependentSchemas", "maxProperties", "allOf", "anyOf", "oneOf", "not", "if", "then",
        "else",
        "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$defs", "$id", "format", "title", "x-swift-type",
    ]

    mutating func schema(depth: Int) -> JSONValue {
        guard depth > 0, !chance(15) else { return chance(1) ? value(depth: 1) : .bool(chance(70)) }
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let keyword = pick(Self.keywords)
            object[keyword] = chance(2) ? value(depth: 2) : self.value(of: keyword, depth: depth - 1)
        }
        return .object(object)
    }

    private mutating func value(of keyword: String, depth: Int) -> JSONValue {
        switch keyword {
        case "type": .string(pick(["object", "array", "string", "integer", "number", "null", "boolean"]))
        case "enum": .array((0..<Int.random(in: 0...12, using: &random)).map { _ in value(depth: 1) })
        case "const": value(depth: 2)
        case "minimum", "exclusiveMaximum", "multipleOf": number()
        case "minLength", "maxLength", "minItems", "minContains", "maxContains", "maxProperties":
            .number(JSONNumber(Int.random(in: 0...3, using: &random)))
        case "uniqueItems": .bool(chance(80))
        case "pattern": .string(pick(["^a", "b$", "a|b", "^.{1,2}$", "", "[^a]"]))
        case "properties", "dependentSchemas", "$defs": members { $0.schema(depth: depth) }
        case "patternProperties": ["^a": schema(depth: depth), "b": schema(depth: depth)]
        case "required": [.string(name()), .string(name())]
        case "dependentRequired": members { [.string($0.name())] }
        case "prefixItems", "allOf", "anyOf", "oneOf":
            .array((0..<Int.random(in: 1...3, using: &random)).map { _ in schema(depth: depth) })
        case "$ref", "$dynamicRef":
            .string(pick(["#", "#a", "#b", "#/$defs/a", "#/properties/a", "#/items", "a", "a#b", "../a", "#/%61"]))
        case "$anchor", "$dynamicAnchor", "$id", "title", "x-swift-type": .string(name())
        case "format": .string(pick(["date", "uri", "x"]))
        default: schema(depth: depth)
        }
    }

    mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &random) {
        case 0: .null
        case 1: .bool(chance(50))
        case 2: number()
        case 3, 4: .string(name() + name())
        case 5: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth - 1) })
        default: members { $0.value(depth: depth - 1) }
        }
    }

    private mutating func members(_ make: (inout RandomSchema) -> JSONValue) -> JSONValue {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0...4, using: &random) { object[name()] = make(&self) }
        return .object(object)
    }

    private mutating func number() -> JSONValue {
        let digits = pick(["0", "1", "2", "-1", "1.0", "0.5", "3", "1e2", "7e30", "1e-7", "12345678901234567890.5"])
        return JSONNumber(digits: digits).map(JSONValue.number) ?? .null
    }

    private mutating func name() -> String { pick(["a", "b", "ab", "a/b", "a~b", "é", "%", ""]) }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func pick(_ choices: [String]) -> String {
        choices[Int.random(in: choices.indices, using: &random)]
    }
}
