import JSON

/// A type that a generated struct holds.
indirect enum ShapeType {
    case scalar(String)
    case optional(ShapeType)
    case array(ShapeType)
    case set(ShapeType)
    case dictionary(key: ShapeType, value: ShapeType)
    case range(String, bound: ShapeType)
    case structure(StructShape)
    /// Around a raw value.
    case wrapper(name: String, raw: ShapeType)
    case rawEnum(RawEnumShape)
    case caseEnum(CaseEnumShape)
    /// A second name for another type.
    case alias(name: String, of: ShapeType)

    /// The type as it is written in a declaration.
    var swift: String {
        switch self {
        case .scalar(let name): name
        case .optional(let type): type.swift + "?"
        case .array(let type): "[\(type.swift)]"
        case .set(let type): "Set<\(type.swift)>"
        case .dictionary(let key, let value): "[\(key.swift): \(value.swift)]"
        case .range(let name, let bound): "\(name)<\(bound.swift)>"
        case .structure(let shape): shape.name
        case .wrapper(let name, _): name
        case .rawEnum(let shape): shape.name
        case .caseEnum(let shape): shape.name
        case .alias(let name, _): name
        }
    }

    var isOptional: Bool {
        switch self {
        case .optional: true
        case .alias(_, let type): type.isOptional
        default: false
        }
    }
}

struct StructShape {
    struct Property {
        var name: String
        /// What the declaration says, with `NAME` for the name and `TYPE` for the type.
        var declaration: String
        var type: ShapeType
        /// Nil: never decoded.
        var key: String?
    }

    var name: String
    var properties: [Property]
    /// The declaration of its CodingKeys, or nothing.
    var codingKeys: String
    /// Computed, static and lazy members, and functions.
    var extras: [String]
    var nested: [String]

    var declaration: String {
        let lines =
            properties.map { property in
                property.declaration.replacing("NAME", with: property.name).replacing("TYPE", with: property.type.swift)
            } + extras + nested + [codingKeys]
        return "struct \(name): Codable {\n" + lines.filter { !$0.isEmpty }.joined(separator: "\n") + "\n}"
    }
}

struct RawEnumShape {
    var name: String
    var declaration: String
    var values: [JSONValue]
    /// Whether a dictionary with such keys is an object.
    var isKey: Bool
}

struct CaseEnumShape {
    struct Case {
        var key: String
        var values: [(key: String, type: ShapeType)]
    }
    var name: String
    var declaration: String
    var cases: [Case]
}
