import JSON
import TestSupport

/// Makes shapes of ActivityAttributes at random, as Swift declarations and as a model of their documents.
struct ShapeGenerator {
    static let scalars = [
        "Int", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Double",
        "Double",
        "Float", "Decimal", "String", "String", "String", "Bool", "Bool", "Date", "Date", "UUID", "URL", "Data",
        "TimeInterval", "CGFloat", "Int128", "UInt128",
    ]
    private static let names = [
        "score", "homeKO", "état", "`default`", "clock", "K", "title", "isLive", "minute", "naïve", "etaSeconds", "Key",
        "a", "_b",
        "updatedAt", "名前",
    ]

    var random: SeededRandom
    private var count = 0
    /// Declarations that stand beside the struct at hand.
    private var beside: [String] = []

    init(random: SeededRandom) { self.random = random }

    private mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func newName(_ stem: String) -> String {
        count += 1
        return "\(stem)\(count)"
    }

    /// One shape: the source, and the models of attributes and content state.
    mutating func shape(_ number: Int) -> (source: String, attributes: StructShape, contentState: StructShape) {
        count = 0
        beside = []
        let name = "Shape\(number)"
        var contentState = structure(name: "ContentState", depth: 0)
        let isInExtension = chance(30)
        let stateNested = beside
        beside = []
        var attributes = structure(name: name, depth: 2)
        attributes.nested = beside
        if chance(50) {
            contentState.nested = stateNested
        } else {
            attributes.nested += stateNested
        }
        if !isInExtension { attributes.nested.append(contentState.declaration) }
        var source = attributes.declaration.replacing(
            "struct \(name): Codable",
            with: "struct \(name): ActivityAttributes"
        )
        if isInExtension { source += "\nextension \(name) {\n\(contentState.declaration)\n}" }
        return (source, attributes, contentState)
    }

    // MARK: Structs

    private mutating func structure(name: String, depth: Int) -> StructShape {
        var shape = StructShape(name: name, properties: [], codingKeys: "", extras: [], nested: [])
        var names = Self.names.shuffled(using: &random)
        for _ in 0..<Int.random(in: depth == 0 ? 2...7 : 0...4, using: &random) {
            shape.properties.append(property(names.removeLast(), depth: depth))
        }
        if chance(30) { shape.extras.append("var computed\(name): Int { 1 }\nstatic let limit\(name) = 3") }
        if chance(20) { shape.extras.append("lazy var late\(name): Int = 3") }
        if chance(20) { shape.extras.append("func f\(name)() -> Int { let x = 1; return x }") }
        if chance(35), !shape.properties.isEmpty { addCodingKeys(to: &shape) }
        return shape
    }

    private mutating func property(_ name: String, depth: Int) -> StructShape.Property {
        let plain = name.replacing("`", with: "")
        var type = type(depth: depth)
        if chance(30), !type.isOptional { type = .optional(type) }
        var property = StructShape.Property(name: name, declaration: "var NAME: TYPE", type: type, key: plain)
        switch Int.random(in: 0..<12, using: &random) {
        case 0: property.declaration = "let NAME: TYPE"
        case 1: property.declaration = "private var NAME: TYPE"
        case 2: property.declaration = "var NAME: TYPE { didSet {} }"
        case 3:
            property = .init(name: name, declaration: "let NAME = 5", type: .scalar("Int"), key: nil)
        case 4:
            let (literal, scalar) = pick([("7", "Int"), ("-1.5", "Double"), ("\"a\"", "String"), ("true", "Bool")])
            property = .init(name: name, declaration: "var NAME = \(literal)", type: .scalar(scalar), key: plain)
        case 5 where type.isOptional: property.declaration = "var NAME: TYPE = nil"
        case 6 where type.isOptional:
            property = .init(name: name, declaration: "let NAME: TYPE = nil", type: type, key: nil)
        default: break
        }
        return property
    }

    private mutating func addCodingKeys(to shape: inout StructShape) {
        var cases: [String] = []
        for index in shape.properties.indices {
            let property = shape.properties[index]
            guard property.key != nil else { continue }
            let canBeLeftOut =
                property.declaration.contains("=") || property.type.isOptional && property.declaration.hasPrefix("var")
            if canBeLeftOut, chance(40) {
                shape.properties[index].key = nil
            } else if chance(50) {
                let key = pick([
                    "k\(index)", "home_\(index)", "K\(index)", "é\(index)", "a b\(index)", "a/b~\(index)", "$\(index)",
                ])
                shape.properties[index].key = key
                cases.append("case \(property.name) = \"\(key)\"")
            } else {
                cases.append("case \(property.name)")
            }
        }
        if !cases.isEmpty {
            shape.codingKeys = "enum CodingKeys: String, CodingKey { \(cases.joined(separator: "\n")) }"
        } else {
            for index in shape.properties.indices
            where shape.properties[index].key == nil && shape.properties[index].declaration.hasPrefix("var") {
                shape.properties[index].key = shape.properties[index].name.replacing("`", with: "")
            }
        }
    }

    // MARK: Types

    private mutating func type(depth: Int) -> ShapeType {
        if depth > 2 || chance(45) { return .scalar(pick(Self.scalars)) }
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return .array(element(depth: depth))
        case 1: return .set(.scalar(pick(["Int", "String", "UUID", "Double", "UInt8"])))
        case 2, 3: return dictionary(depth: depth)
        case 4:
            let bound = ShapeType.scalar(pick(["Int", "Double", "Date", "String", "UInt8", "Decimal", "Float"]))
            let name = pick([
                "Range", "ClosedRange", "ClosedRange", "PartialRangeFrom", "PartialRangeUpTo", "PartialRangeThrough",
            ])
            return .range(name, bound: bound)
        case 5:
            let shape = structure(name: newName("Part"), depth: depth + 1)
            beside.append(shape.declaration)
            return .structure(shape)
        case 6:
            let name = newName("Wrapped")
            let raw = pick(["String", "Int", "Double", "UInt16"])
            beside.append("struct \(name): RawRepresentable, Codable { var rawValue: \(raw) }")
            return .wrapper(name: name, raw: .scalar(raw))
        case 7: return .rawEnum(rawEnum(isKey: chance(50)))
        case 8: return .caseEnum(caseEnum(depth: depth + 1))
        default:
            let name = newName("Other")
            let target = type(depth: depth + 1)
            beside.append("typealias \(name) = \(target.swift)")
            return .alias(name: name, of: target)
        }
    }

    private mutating func element(depth: Int) -> ShapeType {
        let type = type(depth: depth + 1)
        return chance(20) && !type.isOptional ? .optional(type) : type
    }

    private mutating func dictionary(depth: Int) -> ShapeType {
        let key: ShapeType =
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1: .scalar("String")
            case 2: .scalar("Int")
            case 3: .scalar(pick(["UUID", "Int64", "Date", "Double", "Bool", "URL"]))
            default: .rawEnum(rawEnum(isKey: chance(50)))
            }
        return .dictionary(key: key, value: element(depth: depth))
    }

    // MARK: Enums

    private mutating func rawEnum(isKey: Bool) -> RawEnumShape {
        let name = newName("Choice")
        let (raw, cases, values): (String, String, [JSONValue]) = pick([
            ("String", "case first, second = \"2nd\", third", ["first", "2nd", "third"]),
            ("String", "case é, K, `in` = \"a\\u{62}\"", ["é", "K", "ab"]),
            ("Int", "case zero, one, five = 5, six", [0, 1, 5, 6]),
            ("Int", "case minus = -0x10, next", [-16, -15]),
            ("UInt8", "case last = 255, a = 1_0", [255, 10]),
            ("Double", "case half = 0.5, two = 2", [0.5, 2]),
        ])
        let isKey = isKey && (raw == "String" || raw == "Int")
        let protocols = isKey ? "Codable, CodingKeyRepresentable" : "Codable"
        beside.append("enum \(name): \(raw), \(protocols) { \(cases) }")
        return RawEnumShape(
            name: name,
            declaration: "",
            values: values,
            isKey: isKey
        )
    }

    private mutating func caseEnum(depth: Int) -> CaseEnumShape {
        let name = newName("Event")
        let first = type(depth: depth + 1)
        let second = element(depth: depth + 1)
        let third = ShapeType.scalar(pick(Self.scalars))
        var lines = ["case kickoff", "case goal(\(first.swift), by: \(second.swift))"]
        var cases: [CaseEnumShape.Case] = [
            .init(key: "kickoff", values: []), .init(key: "goal", values: [("_0", first), ("by", second)]),
        ]
        if chance(50) {
            lines.append("case card(_ player: \(third.swift), minute: Int? = 3)")
            cases.append(.init(key: "card", values: [("_0", third), ("minute", .optional(.scalar("Int")))]))
        }
        if chance(30) {
            lines.append("indirect case again([\(name)])")
            cases.append(.init(key: "again", values: [("_0", .array(.scalar("Nothing")))]))
        }
        if chance(40) {
            let kept = cases.indices.filter { $0 != 0 || cases.count < 3 }
            let keys = kept.map { "case \(cases[$0].key) = \"K\(cases[$0].key)\"" }
            lines.append("enum CodingKeys: String, CodingKey { \(keys.joined(separator: "\n")) }")
            lines.append("enum GoalCodingKeys: String, CodingKey { case _0 = \"who\", by }")
            cases = kept.map { index in
                let values = cases[index].values.map {
                    cases[index].key == "goal" && $0.key == "_0" ? ("who", $0.type) : $0
                }
                return .init(key: "K" + cases[index].key, values: values)
            }
        }
        beside.append("enum \(name): Codable {\n\(lines.joined(separator: "\n"))\n}")
        return CaseEnumShape(name: name, declaration: "", cases: cases)
    }
}
